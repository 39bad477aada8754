#include "staging/generation/await_lock.h"

#include <algorithm>
#include <chrono>

#include "core/clock.h"

namespace slipway::staging {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kStep(50);

/// A quarter of the wait so far: no wait is much longer than needed.
milliseconds PauseAfter(milliseconds waited) { return std::clamp(waited / 4, milliseconds(20), milliseconds(1000)); }

}  // namespace

FileLock AwaitLock(const std::filesystem::path& path, const std::function<void()>& on_wait) {
  milliseconds waited(0);
  while (true) {
    if (auto lock = FileLock::TryAcquire(path, LockMode::kExclusive)) return std::move(*lock);
    for (auto left = PauseAfter(waited); left.count() > 0; left -= kStep) {
      on_wait();
      const auto step = std::min(left, kStep);
      SystemClock().Sleep(step);
      waited += step;
    }
  }
}

}  // namespace slipway::staging
