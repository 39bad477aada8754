#include "staging/copy/bandwidth.h"

#include <algorithm>

namespace slipway::staging {

SteadyTime BandwidthLimit::Grant(Bytes bytes) {
  const auto price = std::chrono::duration_cast<SteadyTime::duration>(
      Seconds(static_cast<double>(bytes.count) / static_cast<double>(per_second_.count)));
  const std::lock_guard guard(mutex_);
  const auto start = std::max(clock_.Steady(), paid_until_);
  paid_until_ = start + price;
  return start;
}

void BandwidthLimit::Take(Bytes bytes, const std::function<void()>& on_wait) {
  constexpr std::chrono::nanoseconds kMoment = std::chrono::milliseconds(50);
  if (per_second_.count == 0) return;
  const auto start = Grant(bytes);
  for (auto now = clock_.Steady(); now < start; now = clock_.Steady()) {
    on_wait();
    clock_.Sleep(std::min<std::chrono::nanoseconds>(kMoment, start - now));
  }
}

}  // namespace slipway::staging
