/// Holds several threads to one number of bytes a second.
#pragma once

#include <functional>
#include <mutex>

#include "core/clock.h"
#include "core/units.h"

namespace slipway::staging {

/// A token bucket that holds no more than one request. A caller waits until all bytes granted before are paid for. So
/// the rate holds from the first byte, and no burst follows a pause.
class BandwidthLimit {
 public:
  /// Without a limit when `per_second` is 0.
  explicit BandwidthLimit(Bytes per_second, Clock& clock = SystemClock()) : per_second_(per_second), clock_(clock) {}

  /// Waits for its turn, if need be; `on_wait` is called about twenty times a second meanwhile and may throw.
  void Take(Bytes bytes, const std::function<void()>& on_wait);

 private:
  SteadyTime Grant(Bytes bytes);

  const Bytes per_second_;
  Clock& clock_;
  std::mutex mutex_;
  SteadyTime paid_until_{};
};

}  // namespace slipway::staging
