#include "ensemble/search/gaussian_process/output_transform.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace slipway::ensemble {
namespace {

// Cubes of differences of smaller numbers are finite.
constexpr double kHuge = 1e100;
constexpr double kLargestRatio = 1e300;
constexpr double kSkewed = 0.8;
constexpr std::size_t kFewestToWarp = 8;

double Quantile(const std::vector<double>& sorted, double part) {
  return sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1))];
}

double Mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double Moment(const std::vector<double>& values, double mean, int power) {
  double sum = 0;
  for (const double value : values) sum += std::pow(value - mean, power);
  return sum / static_cast<double>(values.size());
}

/// The tenth percentile or, if it equals the best value, the next larger value.
double LowValue(const std::vector<double>& sorted) {
  const double low = Quantile(sorted, 0.1);
  if (low > sorted.front()) return low;
  return *std::ranges::upper_bound(sorted, sorted.front());
}

/// Returns the sum of the logarithms of its slopes.
double WarpByLogarithm(std::vector<double>& values, const std::vector<double>& sorted) {
  const double best = sorted.front();
  const double unit = LowValue(sorted) - best;
  double slopes = 0;
  for (double& value : values) {
    slopes -= std::log(value - best + unit);
    value = std::log1p(std::min((value - best) / unit, kLargestRatio));
  }
  return slopes;
}

void Clip(std::vector<double>& values, const std::vector<double>& sorted) {
  const double upper = Quantile(sorted, 0.75);
  const double limit = upper + 2 * (upper - sorted.front());
  if (limit == sorted.front()) return;
  for (double& value : values) value = std::min(value, limit);
}

/// Returns the sum of the logarithms of its slopes.
double Standardise(std::vector<double>& values) {
  const double mean = Mean(values);
  const double deviation = std::sqrt(Moment(values, mean, 2));
  const bool differ = deviation > 1e-14 * std::abs(mean);
  for (double& value : values) value = differ ? (value - mean) / deviation : 0.0;
  return differ ? -static_cast<double>(values.size()) * std::log(deviation) : 0;
}

struct Scaled {
  std::vector<double> values;
  double log_slopes = 0;
};

Scaled Scale(std::span<const double> values, OutputScale scale) {
  Scaled scaled{{values.begin(), values.end()}, 0};
  for (double& value : scaled.values) value = std::clamp(value, -kHuge, kHuge);
  std::vector<double> sorted = scaled.values;
  std::ranges::sort(sorted);
  if (sorted.empty() || sorted.front() == sorted.back()) return {std::vector<double>(values.size(), 0.0), 0};
  if (scale == OutputScale::kLog && AreSkewed(values)) {
    scaled.log_slopes = WarpByLogarithm(scaled.values, sorted);
  } else if (scale != OutputScale::kLinear) {
    Clip(scaled.values, sorted);
  }
  scaled.log_slopes += Standardise(scaled.values);
  return scaled;
}

}  // namespace

bool AreSkewed(std::span<const double> values) {
  if (values.size() < kFewestToWarp) return false;
  std::vector<double> bounded(values.begin(), values.end());
  for (double& value : bounded) value = std::clamp(value, -kHuge, kHuge);
  const double mean = Mean(bounded);
  const double variance = Moment(bounded, mean, 2);
  return variance > 0 && Moment(bounded, mean, 3) > kSkewed * std::pow(variance, 1.5);
}

std::vector<double> TransformValues(std::span<const double> values, OutputScale scale) {
  return Scale(values, scale).values;
}

double SumOfLogSlopes(std::span<const double> values, OutputScale scale) { return Scale(values, scale).log_slopes; }

}  // namespace slipway::ensemble
