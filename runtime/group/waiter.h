/// Waiting for other ranks: fast when they are close behind, without using the processor in long waits, never for ever.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "runtime/pause.h"

namespace slipway::runtime {

class Watch;

/// Wakes threads that sleep on it. Lies in shared memory.
class Bell {
 public:
  /// To be called after the change that others wait for. Cost: a fence; a system call only while a thread sleeps.
  void Ring();
  /// Sleeps until rung, for `most` at the longest, unless `ready()` holds already.
  void Sleep(const std::function<bool()>& ready, std::chrono::microseconds most);

 private:
  std::atomic<std::uint32_t> rung_{0};
  std::atomic<std::uint32_t> sleepers_{0};
};

/// How often a thread looks before it lets others run. Looking in vain costs its whole time where the rank that it
/// waits for needs the same core; so it becomes shorter with each such wait, and longer with each that looking has
/// ended.
class Looks {
 public:
  explicit Looks(int most) : most_(most), now_(most) {}

  int now() const { return now_; }
  /// What came was there at look `look`, from 0. At the first one, looking has not helped.
  void Found(int look) {
    if (look > 0 && now_ < most_) now_ = now_ * 2 < most_ ? now_ * 2 : most_;
  }
  void InVain() {
    if (now_ > kLeast) now_ = now_ / 2 > kLeast ? now_ / 2 : kLeast;
  }
  static constexpr int kLeast = 5;

 private:
  int most_;
  int now_;
};

/// How a thread waits. One for each thread that waits.
class Waiter {
 public:
  enum class Manner {
    kForeground,  ///< the program waits, too: polls at first
    kBackground,  ///< the program computes meanwhile: sleeps almost at once
  };
  /// `crowded`: there are more ranks on the node than cores.
  Waiter(Watch& watch, Manner manner, bool crowded);

  Manner manner() const { return manner_; }
  /// How late a rank may be: the watch's.
  std::chrono::duration<double> time_limit() const;
  void SetManner(Manner manner);

  /// Returns when `ready()` holds. `missing()` are the ranks of the job that have not come yet.
  /// Errors: RuntimeError(STALLED) when one of them is dead, or does not come within the watch's time limit.
  template <class Ready, class Missing>
  void Until(Ready&& ready, Missing&& missing, Bell* bell = nullptr) {
    for (int look = 0; look < looks_.now(); ++look) {
      if (ready()) return looks_.Found(look);
      Pause();
    }
    looks_.InVain();
    WaitLong(ready, missing, bell);
  }

  /// Returns when `ready()` holds, which this rank's GPU brings about. Its work may take as long as it will. After the
  /// watch's time limit this writes one line to stderr, where the GPU may wait for those of other ranks.
  /// Errors: RuntimeError(STALLED) when a rank is dead whose GPU this one may wait for: then it may never come.
  void UntilGpu(const std::function<bool()>& ready) const;
  /// From now on this rank's GPU may wait for those of `ranks` of the job.
  void AddGpuPeers(std::span<const int> ranks);

  /// Yields the processor to other threads, but does not sleep. False after some milliseconds: sleep now.
  bool StayAwake(const std::function<bool()>& ready) const;

 private:
  void WaitLong(const std::function<bool()>& ready, const std::function<std::vector<int>()>& missing, Bell* bell);

  Watch* watch_;
  bool crowded_;
  Manner manner_ = Manner::kForeground;
  Looks looks_{Looks::kLeast};
};

}  // namespace slipway::runtime
