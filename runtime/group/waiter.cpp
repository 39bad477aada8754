#include "runtime/group/waiter.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>
#include <thread>

#include "runtime/watch/watch.h"

namespace slipway::runtime {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

/// A look costs 20 to 50 nanoseconds.
constexpr int kLooksAlone = 4000;
constexpr microseconds kNap{100};
constexpr microseconds kNapBesideGpu{20};
constexpr microseconds kAwakeInACrowd{1'000};
/// A core that goes idle for some microseconds comes back slower than it went: its clock falls, and under a virtual
/// machine another one takes its place. Two ranks of 30 ms steps lost a tenth of their computing to naps between them.
constexpr microseconds kAwakeAlone{20'000};
/// Asleep on a bell, a rank looks at the others' health this often.
constexpr microseconds kLongestSleep{50'000};

/// Between processes, so not the private kind.
long Futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* time) {
  return ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, time, nullptr, 0);
}

}  // namespace

void Bell::Ring() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_relaxed) == 0) return;
  rung_.fetch_add(1, std::memory_order_seq_cst);
  Futex(rung_, FUTEX_WAKE, INT_MAX, nullptr);
}

void Bell::Sleep(const std::function<bool()>& ready, microseconds most) {
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  // With the fence of Ring(): either the change is seen here, or this sleeper there.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const auto before = rung_.load(std::memory_order_seq_cst);
  if (!ready()) {
    const timespec time{most.count() / 1'000'000, most.count() % 1'000'000 * 1000};
    Futex(rung_, FUTEX_WAIT, before, &time);
  }
  sleepers_.fetch_sub(1, std::memory_order_seq_cst);
}

Waiter::Waiter(Watch& watch, Manner manner, bool crowded) : watch_(&watch), crowded_(crowded) { SetManner(manner); }

void Waiter::SetManner(Manner manner) {
  manner_ = manner;
  const bool patient = crowded_ || manner == Manner::kBackground;
  looks_ = Looks(patient ? Looks::kLeast : kLooksAlone);
}

std::chrono::duration<double> Waiter::time_limit() const { return watch_->stall_after(); }

bool Waiter::StayAwake(const std::function<bool()>& ready) const {
  const auto end = Clock::now() + (crowded_ ? kAwakeInACrowd : kAwakeAlone);
  while (Clock::now() < end) {
    for (int i = 0; i < 8; ++i) {
      if (ready()) return true;
      ::sched_yield();
    }
  }
  return false;
}

void Waiter::UntilGpu(const std::function<bool()>& ready) const {
  if (manner_ == Manner::kForeground && StayAwake(ready)) return;
  Watch::Patience patience(*watch_, Watch::Limit::kLoss);
  while (!ready()) {
    std::this_thread::sleep_for(kNapBesideGpu);
    patience.Check([this] { return watch_->GpuPeers(); });
  }
}

void Waiter::AddGpuPeers(std::span<const int> ranks) { watch_->AddGpuPeers(ranks); }

/// A background thread does not yield, it sleeps. Beside a computing thread, the scheduler treats a thread that yields
/// as one that has had its share, and runs the other for milliseconds. A thread that slept runs at once.
void Waiter::WaitLong(const std::function<bool()>& ready, const std::function<std::vector<int>()>& missing,
                      Bell* bell) {
  if (manner_ == Manner::kForeground && StayAwake(ready)) return;
  Watch::Patience patience(*watch_);
  while (!ready()) {
    if (bell != nullptr) {
      bell->Sleep(ready, kLongestSleep);
    } else {
      std::this_thread::sleep_for(kNap);
    }
    patience.Check(missing);
  }
}

}  // namespace slipway::runtime
