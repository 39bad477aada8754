#include "bench/samplers/statistics.h"

#include <algorithm>
#include <cmath>

namespace slipway::bench {

double Quantile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double place = part * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const auto above = std::min(below + 1, values.size() - 1);
  // Not by interpolation where both are the same: infinite values stay what they are.
  if (values[below] == values[above]) return values[below];
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

double ProbabilityOfSmaller(const std::vector<double>& small, const std::vector<double>& large) {
  if (small.empty() || large.empty()) return 1;
  std::vector<double> all = small;
  all.insert(all.end(), large.begin(), large.end());
  std::sort(all.begin(), all.end());
  double ranks = 0;  // of `small`; equal values share the mean of their ranks
  for (const double value : small) {
    const auto [first, last] = std::equal_range(all.begin(), all.end(), value);
    ranks += 0.5 * static_cast<double>((first - all.begin()) + (last - all.begin()) + 1);
  }
  double ties = 0;
  for (auto first = all.begin(); first != all.end();) {
    const auto last = std::upper_bound(first, all.end(), *first);
    const auto count = static_cast<double>(last - first);
    ties += count * (count * count - 1);
    first = last;
  }
  const auto n = static_cast<double>(small.size());
  const auto m = static_cast<double>(large.size());
  const double pairs_won = n * m + n * (n + 1) / 2 - ranks;
  const double variance = n * m / 12 * (n + m + 1 - ties / ((n + m) * (n + m - 1)));
  if (variance <= 0) return 1;
  return 0.5 * std::erfc((pairs_won - n * m / 2 - 0.5) / std::sqrt(2 * variance));
}

}  // namespace slipway::bench
