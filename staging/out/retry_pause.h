/// When to try again what has failed: after 1, 2, 4 ... 60 seconds.
#pragma once

#include <algorithm>
#include <chrono>

#include "core/clock.h"

namespace slipway::staging {

class RetryPause {
 public:
  explicit RetryPause(Clock& clock = SystemClock()) : clock_(clock) {}

  bool IsOver() const { return clock_.Steady() >= end_; }
  /// True from a failure to the next success.
  bool failing() const { return length_.count() != 0; }

  void Note(bool succeeded) {
    constexpr std::chrono::seconds kFirst{1};
    constexpr std::chrono::seconds kLongest{60};
    length_ = succeeded ? std::chrono::seconds(0) : std::clamp(2 * length_, kFirst, kLongest);
    end_ = clock_.Steady() + length_;
  }

 private:
  Clock& clock_;
  std::chrono::seconds length_{0};
  SteadyTime end_{};
};

}  // namespace slipway::staging
