#include "staging/dataset/stream_state.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <cstring>

#include "core/error.h"
#include "core/files.h"

namespace slipway::staging {

struct StreamState::Header {
  std::array<char, 16> magic;
  std::uint64_t files;
  std::uint64_t slots;
  std::uint64_t seed;
  std::uint32_t status;
  std::uint32_t files_bell;
  std::uint32_t readers_bell;
  std::array<std::byte, 12> unused;
};

struct StreamState::Slot {
  std::uint64_t at;
  std::uint64_t wants;  ///< the use + 1, or 0
  std::array<std::byte, 48> unused;
};

namespace {

constexpr std::string_view kStreamMagic = "slipway.stream/1";
constexpr std::uint64_t kHeaderBytes = 64;
constexpr std::uint64_t kSlotBytes = 64;
constexpr std::uint64_t kMostFiles = std::uint64_t{1} << 32;
constexpr std::uint64_t kMostSlots = 1 << 16;
constexpr mode_t kPrivateMode = 0600;

std::uint64_t BytesOf(const StreamShape& shape) { return kHeaderBytes + shape.slots * kSlotBytes + shape.files * 4; }

/// A timeout, a signal and a bell that rang before are all fine: the caller looks again.
std::uint32_t Await(std::uint32_t& bell, std::uint32_t seen, std::chrono::nanoseconds limit) {
  std::atomic_ref word(bell);
  if (word.load() == seen) {
    const timespec timeout{limit.count() / 1'000'000'000, limit.count() % 1'000'000'000};
    ::syscall(SYS_futex, &bell, FUTEX_WAIT, seen, &timeout, nullptr, 0);
  }
  return word.load();
}

void Ring(std::uint32_t& bell) {
  std::atomic_ref(bell).fetch_add(1);
  ::syscall(SYS_futex, &bell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

struct flock LockOf(std::size_t slot) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(kHeaderBytes + slot * kSlotBytes);
  lock.l_len = 1;
  return lock;
}

[[noreturn]] void ThrowNoState(const std::filesystem::path& path) {
  throw Error(ErrorKind::kEnvironment,
              fmt::format("'{}' is not the state of a stream, or a damaged one", path.string()), "start the run again");
}

}  // namespace

StreamState StreamState::Create(const std::filesystem::path& directory, const StreamShape& shape) {
  static_assert(sizeof(Header) == kHeaderBytes && sizeof(Slot) == kSlotBytes);
  const auto path = directory / kStreamStateName;
  auto temporary = path;
  temporary += ".new";
  auto fd = OpenFile(temporary, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW, kPrivateMode);
  const auto bytes = static_cast<off_t>(BytesOf(shape));
  // A full tier must say so now: a page that cannot be had later is a SIGBUS.
  if (const int error = ::posix_fallocate(fd.get(), 0, bytes); error != 0) {
    throw SystemError(error, fmt::format("cannot reserve '{}'", path.string()));
  }
  StreamState state(std::move(fd), shape);
  auto& header = state.header();
  header.files = shape.files;
  header.slots = shape.slots;
  header.seed = shape.seed;
  std::memcpy(header.magic.data(), kStreamMagic.data(), kStreamMagic.size());
  CheckErrno(::rename(temporary.c_str(), path.c_str()), fmt::format("cannot create '{}'", path.string()));
  return state;
}

StreamState StreamState::Open(const std::filesystem::path& directory) {
  const auto path = directory / kStreamStateName;
  auto fd = OpenFile(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
  struct stat info {};
  CheckErrno(::fstat(fd.get(), &info), fmt::format("cannot look at '{}'", path.string()));
  Header header{};
  const auto count = ::pread(fd.get(), &header, sizeof header, 0);
  const bool good = S_ISREG(info.st_mode) && count == static_cast<ssize_t>(sizeof header) &&
                    std::string_view(header.magic.data(), header.magic.size()) == kStreamMagic && header.files > 0 &&
                    header.files <= kMostFiles && header.slots <= kMostSlots;
  const StreamShape shape{header.files, header.slots, header.seed};
  if (!good || static_cast<std::uint64_t>(info.st_size) < BytesOf(shape)) ThrowNoState(path);
  return StreamState(std::move(fd), shape);
}

StreamState::StreamState(UniqueFd fd, const StreamShape& shape) : fd_(std::move(fd)), shape_(shape) {
  void* memory = ::mmap(nullptr, BytesOf(shape), PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
  if (memory == MAP_FAILED) ThrowErrno("cannot map the state of a stream");
  memory_ = static_cast<std::byte*>(memory);
}

StreamState::StreamState(StreamState&& other) noexcept
    : fd_(std::move(other.fd_)), shape_(other.shape_), memory_(std::exchange(other.memory_, nullptr)) {}

StreamState::~StreamState() {
  if (memory_ != nullptr) ::munmap(memory_, BytesOf(shape_));
}

StreamState::Header& StreamState::header() const { return *reinterpret_cast<Header*>(memory_); }

StreamState::Slot& StreamState::slot(std::size_t number) const {
  return *reinterpret_cast<Slot*>(memory_ + kHeaderBytes + number * kSlotBytes);
}

std::uint32_t& StreamState::file(std::size_t number) const {
  return *reinterpret_cast<std::uint32_t*>(memory_ + kHeaderBytes + shape_.slots * kSlotBytes + number * 4);
}

StreamStatus StreamState::status() const {
  const auto status = std::atomic_ref(header().status).load();
  return status <= 2 ? static_cast<StreamStatus>(status) : StreamStatus::kFailed;
}

void StreamState::SetStatus(StreamStatus status) {
  std::atomic_ref(header().status).store(static_cast<std::uint32_t>(status));
  Ring(header().files_bell);
}

bool StreamState::IsPresent(std::size_t number) const { return std::atomic_ref(file(number)).load() == 1; }

void StreamState::SetPresent(std::size_t number, bool present) {
  std::atomic_ref(file(number)).store(present ? 1 : 0);
  Ring(header().files_bell);
}

std::optional<std::size_t> StreamState::TakeSlot() {
  for (std::size_t number = 0; number < shape_.slots; ++number) {
    auto lock = LockOf(number);
    if (::fcntl(fd_.get(), F_OFD_SETLK, &lock) != 0) continue;
    SetReader(number, {});
    return number;
  }
  return {};
}

void StreamState::SetReader(std::size_t number, const StreamReader& reader) {
  std::atomic_ref(slot(number).at).store(reader.at);
  SetWants(number, reader.wants);
}

void StreamState::SetWants(std::size_t number, std::optional<std::uint64_t> use) {
  std::atomic_ref(slot(number).wants).store(use ? *use + 1 : 0);
  Ring(header().readers_bell);
}

bool StreamState::HasOwner(std::size_t number) const {
  auto lock = LockOf(number);
  return ::fcntl(fd_.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

std::vector<StreamReader> StreamState::Readers() const {
  std::vector<StreamReader> readers;
  for (std::size_t number = 0; number < shape_.slots; ++number) {
    StreamReader reader{std::atomic_ref(slot(number).at).load()};
    const auto wants = std::atomic_ref(slot(number).wants).load();
    if (wants != 0) reader.wants = wants - 1;
    if (std::max(reader.at, wants) < kMostUses && HasOwner(number)) readers.push_back(reader);
  }
  return readers;
}

std::uint32_t StreamState::AwaitFiles(std::uint32_t seen, std::chrono::nanoseconds limit) const {
  return Await(header().files_bell, seen, limit);
}

std::uint32_t StreamState::AwaitReaders(std::uint32_t seen, std::chrono::nanoseconds limit) const {
  return Await(header().readers_bell, seen, limit);
}

}  // namespace slipway::staging
