#include "ensemble/analysis/forest.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace slipway::ensemble {
namespace {

constexpr int kTreesForParts = 16;
constexpr double kTail = 0.05;
constexpr double kFarthest = 1;  // ranges beyond the tail

void ReplaceByRanks(std::vector<CellSample>& samples) {
  std::vector<double> sorted;
  for (const auto& sample : samples) sorted.push_back(sample.value);
  std::ranges::sort(sorted);
  for (auto& sample : samples) {
    sample.value = static_cast<double>(std::ranges::lower_bound(sorted, sample.value) - sorted.begin());
  }
}

/// The first value at or below which lies `part` of the space.
double QuantileOf(std::span<const Observation> trials, const std::vector<double>& parts, double part) {
  std::vector<std::size_t> order(trials.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return trials[i].value; });
  double below = 0;
  for (const auto i : order) {
    below += parts[i];
    if (below >= part) return trials[i].value;
  }
  return trials[order.back()].value;
}

}  // namespace

std::vector<CellSample> SamplesOf(const std::vector<AxisCells>& cells, std::span<const Observation> trials,
                                  Draws& draws) {
  std::vector<CellSample> samples;
  for (const auto& trial : trials) {
    CellSample sample{{}, trial.value};
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const bool is_active = !std::isnan(trial.at[i]);
      const auto cell = is_active ? cells[i].CellOf(trial.at[i]) : draws.Below(cells[i].size());
      sample.cells.push_back(static_cast<std::uint32_t>(cell));
    }
    samples.push_back(std::move(sample));
  }
  return samples;
}

double VolumeOf(const CellBox& box, const std::vector<AxisCells>& cells) {
  double volume = 1;
  for (std::size_t i = 0; i < box.size(); ++i) {
    volume *= static_cast<double>(box[i].size()) / static_cast<double>(cells[i].size());
  }
  return volume;
}

std::vector<double> PartsOfSpace(const std::vector<AxisCells>& cells, std::span<const Observation> trials,
                                 std::uint64_t seed) {
  std::vector<double> parts(trials.size(), 0.0);
  for (int tree = 0; tree < kTreesForParts; ++tree) {
    Draws draws(seed, tree, "parts of the space");
    auto samples = SamplesOf(cells, trials, draws);
    ReplaceByRanks(samples);
    std::vector<const CellSample*> all;
    for (const auto& sample : samples) all.push_back(&sample);
    for (const auto& leaf : GrowTree(cells, all, all, draws)) {
      const double part = VolumeOf(leaf.box, cells) / static_cast<double>(leaf.followers.size()) / kTreesForParts;
      for (const auto* sample : leaf.followers) parts[static_cast<std::size_t>(sample - samples.data())] += part;
    }
  }
  return parts;
}

std::vector<double> TamedValues(std::span<const Observation> trials, const std::vector<double>& parts) {
  const double low = QuantileOf(trials, parts, kTail);
  const double high = QuantileOf(trials, parts, 1 - kTail);
  std::vector<double> values;
  for (const auto& trial : trials) {
    values.push_back(high > low ? std::min(trial.value, high + kFarthest * (high - low)) : trial.value);
  }
  return values;
}

}  // namespace slipway::ensemble
