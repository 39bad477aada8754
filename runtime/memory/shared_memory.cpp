#include "runtime/memory/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

namespace slipway::runtime {
namespace {

constexpr const char* kWhat = "shared memory";

[[noreturn]] void Fail(int code, const char* what) { throw std::system_error(code, std::generic_category(), what); }

struct stat StatusOf(int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) Fail(errno, "fstat of shared memory");
  return status;
}

/// Whether `data` shows what `descriptor` holds at `offset`, as far as some bytes tell.
bool Shows(const char* data, int descriptor, std::size_t offset, std::size_t bytes) {
  std::array<char, 64> held;
  const auto looked_at = std::min(bytes - offset, held.size());
  return ::pread(descriptor, held.data(), looked_at, static_cast<off_t>(offset)) == static_cast<ssize_t>(looked_at) &&
         std::memcmp(data + offset, held.data(), looked_at) == 0;
}

}  // namespace

SharedMemory SharedMemory::Create(std::size_t bytes, MemoryAllowance* allowance) try {
  if (allowance != nullptr) allowance->Foresee(Bytes{bytes}, kWhat);
  SharedMemory made;
  made.size_ = bytes;
  made.descriptor_ = UniqueFd(::memfd_create("slipway", MFD_CLOEXEC));
  if (!made.descriptor_) Fail(errno, "memfd_create");
  made.Promise(allowance);
  made.Map();
  return made;
} catch (const MemoryError& error) {
  throw std::system_error(ENOMEM, std::generic_category(), error.message());
}

/// In steps, and again: any signal to this process, a profiler's too, ends a step and undoes it.
void SharedMemory::Promise(MemoryAllowance* allowance) const {
  constexpr std::size_t kStep = MemoryAllowance::kStep;
  for (std::size_t done = 0; done < size_; done += kStep) {
    if (allowance != nullptr) allowance->Take(Bytes{std::min(kStep, size_ - done)}, kWhat);
    int code = EINTR;
    for (int tries = 0; code == EINTR && tries < 1000; ++tries) {
      code = ::posix_fallocate(descriptor_.get(), static_cast<off_t>(done),
                               static_cast<off_t>(std::min(kStep, size_ - done)));
    }
    if (code != 0) Fail(code, "posix_fallocate of shared memory");
  }
}

SharedMemory SharedMemory::Open(const SharedMemoryAddress& address) {
  const auto path = "/proc/" + std::to_string(address.process) + "/fd/" + std::to_string(address.descriptor);
  SharedMemory made;
  made.size_ = address.bytes;
  made.descriptor_ = UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!made.descriptor_) Fail(errno, "opening another rank's shared memory");
  const auto status = StatusOf(made.descriptor_.get());
  if (status.st_dev != address.device || status.st_ino != address.inode) Fail(ESTALE, "another rank's shared memory");
  made.Map();
  made.descriptor_ = UniqueFd();  // the mapping is enough
  return made;
}

SharedMemory SharedMemory::Borrow(char* data, std::size_t bytes, int descriptor) {
  SharedMemory made;
  made.descriptor_ = UniqueFd(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  if (!made.descriptor_) Fail(errno, "duplicating a descriptor of shared memory");
  const auto status = StatusOf(descriptor);
  const bool fits = S_ISREG(status.st_mode) && status.st_size >= static_cast<off_t>(bytes);
  if (!fits || !Shows(data, descriptor, 0, bytes) ||
      !Shows(data, descriptor, bytes - std::min<std::size_t>(bytes, 64), bytes)) {
    Fail(EINVAL, "memory that is not what its descriptor holds");
  }
  made.data_ = data;
  made.size_ = bytes;
  made.borrowed_ = true;
  return made;
}

void SharedMemory::Map() {
  void* mapped = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_.get(), 0);
  if (mapped == MAP_FAILED) Fail(errno, "mmap of shared memory");
  data_ = static_cast<char*>(mapped);
  ::madvise(data_, size_, MADV_HUGEPAGE);  // where the system allows it; fewer page faults
}

SharedMemoryAddress SharedMemory::address() const {
  const auto status = StatusOf(descriptor_.get());
  return {::getpid(), descriptor_.get(), size_, status.st_dev, status.st_ino};
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : descriptor_(std::move(other.descriptor_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      borrowed_(std::exchange(other.borrowed_, false)) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(borrowed_, other.borrowed_);
  return *this;
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr && !borrowed_) ::munmap(data_, size_);
}

}  // namespace slipway::runtime
