/// Keeps a stream of bytes below a rate by sleeping.
#pragma once

#include <cstdint>
#include <optional>

#include "core/clock.h"
#include "core/units.h"

namespace slipway::staging {

class RateLimit {
 public:
  explicit RateLimit(std::optional<Bytes> per_second, Clock& clock = SystemClock())
      : per_second_(per_second), clock_(clock), started_(clock.Steady()) {}

  /// Sleeps until `bytes` more fit.
  void Take(std::uint64_t bytes) {
    if (!per_second_ || per_second_->count == 0) return;
    taken_ += bytes;
    const Seconds due(static_cast<double>(taken_) / static_cast<double>(per_second_->count));
    const Seconds passed = clock_.Steady() - started_;
    if (due > passed) clock_.Sleep(std::chrono::duration_cast<std::chrono::nanoseconds>(due - passed));
  }

 private:
  std::optional<Bytes> per_second_;
  Clock& clock_;
  SteadyTime started_;
  std::uint64_t taken_ = 0;
};

}  // namespace slipway::staging
