#include "tests/runtime/device/fake_nccl/world.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

namespace slipway::fake_nccl {
namespace {

constexpr std::size_t kHeadBytes = 4096;

}  // namespace

std::size_t World::bytes() const { return kHeadBytes + static_cast<std::size_t>(ranks_) * kSlotBytes; }

World::World(const std::string& name, int ranks, int rank, Failure failure) : name_(name), ranks_(ranks), rank_(rank) {
  static_assert(sizeof(Head) <= kHeadBytes);
  const int file = ::shm_open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ::ftruncate(file, static_cast<off_t>(bytes())) != 0) std::abort();
  void* memory = ::mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (memory == MAP_FAILED) std::abort();
  head_ = static_cast<Head*>(memory);  // zeroed, as it begins
  if (failure != Failure::kNone) head_->failure = failure;
  if (++head_->attached == ranks_) ::shm_unlink(name_.c_str());  // also processes that die leave no file
}

World::~World() {
  if (!complete()) ::shm_unlink(name_.c_str());
  ::munmap(head_, bytes());
}

bool World::complete() const { return head_->attached == ranks_; }

char* World::Slot(int rank) const {
  return reinterpret_cast<char*>(head_) + kHeadBytes + static_cast<std::size_t>(rank) * kSlotBytes;
}

bool World::Meet(std::uint64_t phase, const std::atomic<bool>& stop) {
  head_->phases[rank_] = phase;
  for (int other = 0; other < ranks_; ++other) {
    while (head_->phases[other] < phase) {
      if (stop) return false;
      std::this_thread::yield();
    }
  }
  return !stop;
}

}  // namespace slipway::fake_nccl
