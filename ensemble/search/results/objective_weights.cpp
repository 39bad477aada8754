#include "ensemble/search/results/objective_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ensemble/search/numbers/draws.h"

namespace slipway::ensemble {
namespace {

constexpr double kSumPart = 0.05;

double ValueAt(const Observation& result, std::size_t i) { return i == 0 ? result.value : result.more[i - 1]; }

/// Weights that are even over all with the sum 1: exponential numbers, scaled.
std::vector<double> DrawWeights(std::size_t count, std::uint64_t seed, TrialNumber trial) {
  Draws draws(seed, trial, "objective weights");
  std::vector<double> weights(count);
  double sum = 0;
  for (double& weight : weights) sum += weight = -std::log1p(-draws.Unit());
  for (double& weight : weights) weight = sum > 0 ? weight / sum : 1 / static_cast<double>(count);
  return weights;
}

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  /// It halves both numbers first: their difference may be too large for a double.
  double Scaled(double value) const { return high > low ? (value / 2 - low / 2) / (high / 2 - low / 2) : 0; }
};

}  // namespace

Observations WeightedObjectives(const Observations& known, std::uint64_t seed, TrialNumber trial) {
  std::size_t further = 0;
  for (const auto& result : known.complete) further = std::max(further, result.more.size());
  Observations weighted{{}, known.pending, known.failed};
  std::ranges::copy_if(known.complete, std::back_inserter(weighted.complete),
                       [&](const auto& result) { return result.more.size() == further; });
  std::vector<Range> ranges(further + 1);
  for (const auto& result : weighted.complete) {
    for (std::size_t i = 0; i <= further; ++i) {
      ranges[i].low = std::min(ranges[i].low, ValueAt(result, i));
      ranges[i].high = std::max(ranges[i].high, ValueAt(result, i));
    }
  }
  const auto weights = DrawWeights(further + 1, seed, trial);
  for (auto& result : weighted.complete) {
    double largest = 0, sum = 0;
    for (std::size_t i = 0; i <= further; ++i) {
      const double part = weights[i] * ranges[i].Scaled(ValueAt(result, i));
      largest = std::max(largest, part);
      sum += part;
    }
    result.value = largest + kSumPart * sum;
    result.more.clear();
  }
  return weighted;
}

}  // namespace slipway::ensemble
