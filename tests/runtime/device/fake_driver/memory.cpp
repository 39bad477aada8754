#include "tests/runtime/device/fake_driver/memory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <utility>

namespace slipway::fake_gpu {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::uint64_t kMagic = 0x736c697077617967;

struct Exported {
  std::uint64_t magic;
  std::int64_t process;
  std::int64_t file;
  std::uint64_t bytes;
  std::uint64_t system_device;
  std::uint64_t inode;
  std::int64_t device;
};
static_assert(sizeof(Exported) <= sizeof(IpcHandle));

std::size_t Paged(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

/// Addresses without access, with a page without access on both sides.
Address Reserve(std::size_t bytes) {
  void* reserved =
      ::mmap(nullptr, Paged(bytes) + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) throw Refusal{kOutOfMemory};
  return reinterpret_cast<Address>(reserved) + kPage;
}

std::string Hex(Address address) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%zx", address);
  return text;
}

std::string Text(Range range) { return std::to_string(range.bytes()) + " bytes at " + Hex(range.begin); }

}  // namespace

Allocation Allocation::Create(Origin origin, std::size_t bytes, Address reserved) {
  Allocation made;
  made.origin_ = origin;
  made.bytes_ = bytes;
  made.file_ = UniqueFd(::memfd_create("fake_gpu", MFD_CLOEXEC));
  if (!made.file_ || ::ftruncate(made.file_.get(), static_cast<off_t>(Paged(bytes))) != 0) throw Refusal{kOutOfMemory};
  made.Map(reserved);
  return made;
}

Allocation Allocation::Import(const IpcHandle& handle) {
  Exported exported;
  std::memcpy(&exported, &handle, sizeof exported);
  if (exported.magic != kMagic) throw Refusal{kInvalidValue};
  const auto path = "/proc/" + std::to_string(exported.process) + "/fd/" + std::to_string(exported.file);
  Allocation made;
  made.origin_ = Origin::kImported;
  made.bytes_ = exported.bytes;
  made.device = static_cast<Device>(exported.device);
  made.source = handle;
  made.file_ = UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  struct stat status {};
  if (!made.file_ || ::fstat(made.file_.get(), &status) != 0) throw Refusal{kInvalidHandle};
  if (status.st_dev != exported.system_device || status.st_ino != exported.inode) throw Refusal{kInvalidHandle};
  if (::flock(made.file_.get(), LOCK_SH) != 0) throw Refusal{kUnknown};  // IsMappedElsewhere() sees it
  made.Map(Reserve(made.bytes_));
  return made;
}

void Allocation::Map(Address reserved) {
  address_ = reserved;
  const int access = origin_ == Origin::kManaged ? PROT_READ | PROT_WRITE : PROT_NONE;
  void* program =
      ::mmap(reinterpret_cast<void*>(reserved), Paged(bytes_), access, MAP_SHARED | MAP_FIXED, file_.get(), 0);
  void* shadow = ::mmap(nullptr, Paged(bytes_), PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (shadow != MAP_FAILED) shadow_ = static_cast<char*>(shadow);
  if (program == MAP_FAILED || shadow == MAP_FAILED) throw Refusal{kOutOfMemory};
}

Allocation::Allocation(Allocation&& other) noexcept
    : device(other.device),
      context(other.context),
      id(other.id),
      opened(other.opened),
      source(other.source),
      origin_(other.origin_),
      file_(std::move(other.file_)),
      address_(std::exchange(other.address_, 0)),
      shadow_(std::exchange(other.shadow_, nullptr)),
      bytes_(other.bytes_) {}

/// The addresses stay reserved: no other mapping of the process may take them.
Allocation::~Allocation() {
  if (shadow_ != nullptr) ::munmap(shadow_, Paged(bytes_));
  if (address_ == 0) return;
  ::mmap(reinterpret_cast<void*>(address_), Paged(bytes_), PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

IpcHandle Allocation::Export() const {
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) throw Refusal{kUnknown};
  const Exported exported{kMagic, ::getpid(), file_.get(), bytes_, status.st_dev, status.st_ino, device};
  IpcHandle handle{};
  std::memcpy(&handle, &exported, sizeof exported);
  return handle;
}

bool Allocation::IsMappedElsewhere() const {
  if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0) return true;
  ::flock(file_.get(), LOCK_UN);
  return false;
}

void Memory::SetDevices(int count, std::size_t bytes_each) {
  total_.assign(static_cast<std::size_t>(count), bytes_each);
}

std::size_t Memory::free(Device device) const {
  std::size_t used = 0;
  for (const auto& [address, allocation] : allocations_) {
    const bool counts = allocation.device == device && allocation.origin() != Allocation::Origin::kImported;
    if (counts) used += Paged(allocation.range().bytes());
  }
  return used > total_[device] ? 0 : total_[device] - used;
}

Allocation& Memory::Allocate(Allocation::Origin origin, Device device, ContextHandle context, std::size_t bytes) {
  if (Paged(bytes) > free(device)) throw Refusal{kOutOfMemory};
  auto& freed = freed_[Paged(bytes)];
  if (freed.empty()) freed.push_back(Reserve(bytes));
  const auto reserved = freed.back();
  freed.pop_back();
  auto& made = allocations_.emplace(reserved, Allocation::Create(origin, bytes, reserved)).first->second;
  made.device = device;
  made.context = context;
  made.id = ++ids_;
  return made;
}

Allocation& Memory::Open(const IpcHandle& handle, Device device, ContextHandle context) {
  Exported exported;
  std::memcpy(&exported, &handle, sizeof exported);
  if (exported.magic == kMagic && exported.process == ::getpid()) throw Refusal{kInvalidContext};
  for (auto& [address, known] : allocations_) {
    if (known.origin() != Allocation::Origin::kImported || known.context != context) continue;
    if (std::memcmp(&known.source, &handle, sizeof handle) != 0) continue;
    ++known.opened;
    return known;
  }
  auto made = Allocation::Import(handle);
  made.device = device;
  made.context = context;
  made.id = ++ids_;
  const auto address = made.range().begin;
  return allocations_.emplace(address, std::move(made)).first->second;
}

Allocation* Memory::Find(Address address) {
  auto next = allocations_.upper_bound(address);
  if (next == allocations_.begin()) return nullptr;
  auto& candidate = std::prev(next)->second;
  return candidate.range().Holds(Range::Of(address, 1)) ? &candidate : nullptr;
}

Allocation& Memory::Starting(Address address, bool imported) {
  const auto found = allocations_.find(address);
  if (found != allocations_.end() && (found->second.origin() == Allocation::Origin::kImported) == imported) {
    return found->second;
  }
  ledger_.Report(FAKE_GPU_STALE_HANDLE, "no allocation starts at " + Hex(address));
  throw Refusal{kInvalidValue};
}

void Memory::Forget(const Allocation& allocation) {
  const auto range = allocation.range();
  freed_[Paged(range.bytes())].push_back(range.begin);
  allocations_.erase(range.begin);
}

char* Memory::Shadow(Range range) {
  const auto* found = Find(range.begin);
  if (found != nullptr && found->range().Holds(range)) return found->shadow(range.begin);
  const auto kind = found == nullptr ? FAKE_GPU_STALE_HANDLE : FAKE_GPU_OUT_OF_BOUNDS;
  const auto of = found == nullptr ? " are in no device memory" : " leave an allocation of " + Text(found->range());
  ledger_.Report(kind, Text(range) + of);
  throw Refusal{kInvalidValue};
}

Memory::Pinning Memory::PinningOf(Range range) {
  for (const auto& [address, pinned] : pinned_) {
    if (pinned.range.Holds(range)) return Pinning::kPinned;
    if (!pinned.range.Meets(range)) continue;
    ledger_.Report(FAKE_GPU_OUT_OF_BOUNDS, "host: " + Text(range) + " leave a pinned range of " + Text(pinned.range));
    throw Refusal{kInvalidValue};
  }
  return Pinning::kPageable;
}

const PinnedRange* Memory::FindPinned(Address address) const {
  for (const auto& [begin, pinned] : pinned_) {
    if (pinned.range.Holds(Range::Of(address, 1))) return &pinned;
  }
  return nullptr;
}

PinnedRange& Memory::AllocateHost(std::size_t bytes) {
  void* made = ::mmap(nullptr, Paged(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) throw Refusal{kOutOfMemory};
  const auto address = reinterpret_cast<Address>(made);
  return pinned_.emplace(address, PinnedRange{Range::Of(address, bytes), true, 0, nullptr, ++ids_}).first->second;
}

PinnedRange& Memory::Register(Range range) {
  for (const auto& [begin, pinned] : pinned_) {
    if (pinned.range.Meets(range)) throw Refusal{kHostMemoryAlreadyRegistered};
  }
  const auto first = range.begin / kPage * kPage;
  std::vector<unsigned char> pages(Paged(range.end - first) / kPage);
  if (::mincore(reinterpret_cast<void*>(first), range.end - first, pages.data()) != 0) throw Refusal{kInvalidValue};
  return pinned_.emplace(range.begin, PinnedRange{range, false, 0, nullptr, ++ids_}).first->second;
}

const PinnedRange& Memory::StartingPinned(Address address, bool made_here) {
  const auto found = pinned_.find(address);
  if (found != pinned_.end() && found->second.made_here == made_here) return found->second;
  ledger_.Report(FAKE_GPU_STALE_HANDLE, "no pinned host memory starts at " + Hex(address));
  throw Refusal{made_here ? kInvalidValue : kHostMemoryNotRegistered};
}

void Memory::ForgetPinned(Address address) {
  const auto found = pinned_.find(address);
  const auto& pinned = found->second;
  if (pinned.made_here) ::munmap(reinterpret_cast<void*>(pinned.range.begin), Paged(pinned.range.bytes()));
  pinned_.erase(found);
}

void Memory::ForgetAllOf(ContextHandle context) {
  for (auto next = allocations_.begin(); next != allocations_.end();) {
    const auto& allocation = (next++)->second;
    if (allocation.context == context) Forget(allocation);
  }
  for (auto next = pinned_.begin(); next != pinned_.end();) {
    const auto [address, pinned] = *next++;
    if (pinned.context == context) ForgetPinned(address);
  }
}

void Memory::Clear() {
  while (!allocations_.empty()) Forget(allocations_.begin()->second);
  while (!pinned_.empty()) ForgetPinned(pinned_.begin()->first);
}

}  // namespace slipway::fake_gpu
