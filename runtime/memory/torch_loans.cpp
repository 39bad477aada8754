#include "runtime/memory/torch_loans.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "runtime/memory/redirected_calls.h"

namespace slipway::runtime {
namespace {

std::uintptr_t AddressOf(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

class Loans {
 public:
  void Add(char* block, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (!sizes_.emplace(block, bytes).second) return;
    auto& of_size = waiting_[bytes];
    of_size.blocks.reserve(++of_size.lent);  // so that giving back takes no memory
    of_size.blocks.push_back(block);
    first_ = std::min(first_.load(), AddressOf(block));
    end_ = std::max(end_.load(), AddressOf(block) + bytes);
  }

  bool Remove(const char* block) {
    const std::lock_guard lock(mutex_);
    const auto known = sizes_.find(block);
    if (known == sizes_.end()) return true;
    auto& of_size = waiting_.at(known->second);
    const auto found = std::ranges::find(of_size.blocks, block);
    if (found == of_size.blocks.end()) return false;
    of_size.blocks.erase(found);
    --of_size.lent;
    sizes_.erase(known);
    return true;
  }

  /// Null when no block of this size is left. The last one given back comes first.
  void* Take(std::size_t bytes, std::size_t alignment) noexcept {
    const std::lock_guard lock(mutex_);
    const auto found = waiting_.find(bytes);
    if (found == waiting_.end() || found->second.blocks.empty()) return nullptr;
    char* block = found->second.blocks.back();
    if (AddressOf(block) % alignment != 0) return nullptr;
    found->second.blocks.pop_back();
    return block;
  }

  /// False when it is no block.
  bool GiveBack(void* memory) noexcept {
    if (AddressOf(memory) < first_.load(std::memory_order_relaxed)) return false;
    if (AddressOf(memory) >= end_.load(std::memory_order_relaxed)) return false;
    const std::lock_guard lock(mutex_);
    const auto known = sizes_.find(static_cast<char*>(memory));
    if (known == sizes_.end()) return false;
    if (!in_child_) waiting_.find(known->second)->second.blocks.push_back(static_cast<char*>(memory));
    return true;
  }

  /// fork() in this thread: no other thread has the lock meanwhile, so the child's copy of all this is whole.
  void BeforeFork() { mutex_.lock(); }
  void AfterFork() { mutex_.unlock(); }
  void BecomeChild() {
    in_child_ = true;
    mutex_.unlock();
  }
  bool in_child() const { return in_child_.load(std::memory_order_relaxed); }

 private:
  struct OfSize {
    std::vector<char*> blocks;  ///< without a tensor
    std::size_t lent = 0;
  };

  std::mutex mutex_;
  std::unordered_map<const char*, std::size_t> sizes_;
  std::unordered_map<std::size_t, OfSize> waiting_;
  std::atomic<std::uintptr_t> first_{std::numeric_limits<std::uintptr_t>::max()};
  std::atomic<std::uintptr_t> end_{0};
  std::atomic<bool> in_child_{false};
};

/// Never destroyed: torch frees tensors until the process ends.
Loans& TheLoans() {
  static auto* const loans = new Loans;
  return *loans;
}

thread_local Lending lending_here = Lending::kOff;

int AllocateForTorch(void** memory, std::size_t alignment, std::size_t bytes) {
  if (lending_here == Lending::kOn && !TheLoans().in_child()) {
    if (void* block = TheLoans().Take(bytes, alignment); block != nullptr) {
      *memory = block;
      return 0;
    }
  }
  return ::posix_memalign(memory, alignment, bytes);
}

void FreeForTorch(void* memory) {
  if (!TheLoans().GiveBack(memory)) ::free(memory);
}

bool Redirect() {
  TheLoans();
  if (::pthread_atfork([] { TheLoans().BeforeFork(); }, [] { TheLoans().AfterFork(); },
                       [] { TheLoans().BecomeChild(); }) != 0) {
    return false;
  }
  // First that blocks are known when they come back.
  const Redirection calls[] = {
      {"free", reinterpret_cast<void*>(&::free), reinterpret_cast<void*>(&FreeForTorch)},
      {"posix_memalign", reinterpret_cast<void*>(&::posix_memalign), reinterpret_cast<void*>(&AllocateForTorch)}};
  return RedirectCalls("libc10.so", calls);
}

}  // namespace

bool LendToTorch(char* block, std::size_t bytes) {
  static const bool redirected = Redirect();
  if (redirected) TheLoans().Add(block, bytes);
  return redirected;
}

bool TakeBackFromTorch(const char* block) { return TheLoans().Remove(block); }

void SetLending(Lending lending) { lending_here = lending; }

}  // namespace slipway::runtime
