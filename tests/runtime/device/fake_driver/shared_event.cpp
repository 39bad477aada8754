#include "tests/runtime/device/fake_driver/shared_event.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string>
#include <utility>

#include "tests/runtime/device/fake_driver/ledger.h"

namespace slipway::fake_gpu {
namespace {

constexpr std::size_t kEventBytes = 4096;
constexpr std::uint64_t kEventMagic = 0x736c69706576656e;

struct ExportedEvent {
  std::uint64_t magic;
  std::int64_t process;
  std::int64_t file;
  std::uint64_t system_device;
  std::uint64_t inode;
};
static_assert(sizeof(ExportedEvent) <= sizeof(IpcHandle));

void Raise(std::atomic<std::uint64_t>& number, std::uint64_t to) {
  auto now = number.load();
  while (now < to && !number.compare_exchange_weak(now, to)) continue;
}

}  // namespace

/// In memory of all processes, zero at first.
struct SharedEvent::Page {
  std::atomic<std::uint64_t> recorded;
  std::atomic<std::uint64_t> reached;
  std::atomic<std::uint64_t> wanted;
  std::atomic<int> opened;
};

SharedEvent::SharedEvent(UniqueFd file, bool imported) : file_(std::move(file)), imported_(imported) {
  void* page = ::mmap(nullptr, kEventBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (page == MAP_FAILED) throw Refusal{kOutOfMemory};
  page_ = static_cast<Page*>(page);
  if (imported_) ++page_->opened;
}

SharedEvent::~SharedEvent() {
  if (imported_) --page_->opened;
  ::munmap(page_, kEventBytes);
}

std::shared_ptr<SharedEvent> SharedEvent::Create() {
  UniqueFd file(::memfd_create("fake_gpu_event", MFD_CLOEXEC));
  if (!file || ::ftruncate(file.get(), static_cast<off_t>(kEventBytes)) != 0) throw Refusal{kOutOfMemory};
  return std::shared_ptr<SharedEvent>(new SharedEvent(std::move(file), false));
}

std::shared_ptr<SharedEvent> SharedEvent::Open(const IpcHandle& handle) {
  ExportedEvent exported;
  std::memcpy(&exported, &handle, sizeof exported);
  if (exported.magic != kEventMagic) throw Refusal{kInvalidValue};
  if (exported.process == ::getpid()) throw Refusal{kInvalidContext};
  const auto path = "/proc/" + std::to_string(exported.process) + "/fd/" + std::to_string(exported.file);
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) throw Refusal{kInvalidHandle};
  if (status.st_dev != exported.system_device || status.st_ino != exported.inode) throw Refusal{kInvalidHandle};
  return std::shared_ptr<SharedEvent>(new SharedEvent(std::move(file), true));
}

IpcHandle SharedEvent::Export() const {
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) throw Refusal{kUnknown};
  const ExportedEvent exported{kEventMagic, ::getpid(), file_.get(), status.st_dev, status.st_ino};
  IpcHandle handle{};
  std::memcpy(&handle, &exported, sizeof exported);
  return handle;
}

bool SharedEvent::OpenElsewhere() const { return !imported_ && page_->opened > 0; }
std::uint64_t SharedEvent::Record() { return ++page_->recorded; }
std::uint64_t SharedEvent::last() const { return page_->recorded; }
void SharedEvent::Reach(std::uint64_t record) { Raise(page_->reached, record); }
bool SharedEvent::Reached(std::uint64_t record) const { return page_->reached >= record; }
void SharedEvent::Want(std::uint64_t record) { Raise(page_->wanted, record); }
bool SharedEvent::Wanted(std::uint64_t record) const { return page_->wanted >= record; }

}  // namespace slipway::fake_gpu
