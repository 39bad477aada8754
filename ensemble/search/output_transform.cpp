#include "ensemble/search/output_transform.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace slipway::ensemble {
namespace {

// Cubes of differences of numbers below it are finite.
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

bool IsSkewed(const std::vector<double>& values) {
  const double mean = Mean(values);
  const double variance = Moment(values, mean, 2);
  return variance > 0 && Moment(values, mean, 3) > kSkewed * std::pow(variance, 1.5);
}

/// The tenth part from below, or the next value that differs from the best.
double LowValue(const std::vector<double>& sorted) {
  const double low = Quantile(sorted, 0.1);
  if (low > sorted.front()) return low;
  return *std::ranges::upper_bound(sorted, sorted.front());
}

void WarpByLogarithm(std::vector<double>& values, const std::vector<double>& sorted) {
  const double best = sorted.front();
  const double unit = LowValue(sorted) - best;
  for (double& value : values) value = std::log1p(std::min((value - best) / unit, kLargestRatio));
}

void Clip(std::vector<double>& values, const std::vector<double>& sorted) {
  const double upper = Quantile(sorted, 0.75);
  const double limit = upper + 2 * (upper - sorted.front());
  if (limit == sorted.front()) return;
  for (double& value : values) value = std::min(value, limit);
}

void Standardise(std::vector<double>& values) {
  const double mean = Mean(values);
  const double deviation = std::sqrt(Moment(values, mean, 2));
  const bool differ = deviation > 1e-14 * std::abs(mean);
  for (double& value : values) value = differ ? (value - mean) / deviation : 0.0;
}

}  // namespace

std::vector<double> TransformValues(std::span<const double> values, OutputScale scale) {
  std::vector<double> result(values.begin(), values.end());
  if (result.empty()) return result;
  for (double& value : result) value = std::clamp(value, -kHuge, kHuge);
  std::vector<double> sorted = result;
  std::ranges::sort(sorted);
  if (sorted.front() == sorted.back()) return std::vector<double>(result.size(), 0.0);
  if (scale == OutputScale::kLog && result.size() >= kFewestToWarp && IsSkewed(result)) {
    WarpByLogarithm(result, sorted);
  } else {
    Clip(result, sorted);
  }
  Standardise(result);
  return result;
}

}  // namespace slipway::ensemble
