#include "ensemble/analysis/forest.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace slipway::ensemble {
namespace {

std::size_t CountCells(const Axis& axis) {
  const bool is_short = axis.values > 0 && axis.values <= AxisCells::kMostCells;
  return is_short || axis.kind == AxisKind::kCategorical ? static_cast<std::size_t>(axis.values)
                                                         : AxisCells::kMostCells;
}

}  // namespace

AxisCells::AxisCells(const Axis& axis) : is_ordered_(axis.kind != AxisKind::kCategorical), size_(CountCells(axis)) {}

std::size_t AxisCells::CellOf(double coordinate) const {
  const double place = is_ordered_ ? std::floor(coordinate * static_cast<double>(size_)) : coordinate;
  return static_cast<std::size_t>(std::clamp(place, 0.0, static_cast<double>(size_ - 1)));
}

std::vector<AxisCells> CellsOf(const Encoding& encoding) { return {encoding.axes().begin(), encoding.axes().end()}; }

namespace {

using Samples = std::vector<const CellSample*>;
using CellSet = std::vector<std::uint32_t>;

/// The samples of one cell of an axis.
struct SplitTally {
  std::uint32_t cell = 0;
  double count = 0;
  double sum = 0;
  double mean() const { return sum / count; }
};

struct Split {
  std::size_t axis = 0;
  CellSet left;     // ascending
  double gain = 0;  // by how much the sum of squares falls; 0: there is no split
};

double Mean(const Samples& samples) {
  double sum = 0;
  for (const auto* sample : samples) sum += sample->value;
  return sum / static_cast<double>(samples.size());
}

/// Only cells with samples, ascending.
std::vector<SplitTally> TallyCells(const Samples& samples, std::size_t axis, std::size_t cells, double mean) {
  std::vector<SplitTally> tallies(cells);
  for (std::uint32_t cell = 0; cell < cells; ++cell) tallies[cell].cell = cell;
  for (const auto* sample : samples) {
    auto& tally = tallies[sample->cells[axis]];
    ++tally.count;
    tally.sum += sample->value - mean;
  }
  std::erase_if(tallies, [](const SplitTally& tally) { return tally.count == 0; });
  return tallies;
}

/// The number of `tallies` on the left side that reduces the sum of squares most, and the reduction.
std::pair<std::size_t, double> BestCut(const std::vector<SplitTally>& tallies, double count, double fewest) {
  std::pair<std::size_t, double> best{0, 0.0};
  double left_count = 0;
  double left_sum = 0;
  for (std::size_t i = 0; i + 1 < tallies.size(); ++i) {
    left_count += tallies[i].count;
    left_sum += tallies[i].sum;
    const double right_count = count - left_count;
    if (left_count < fewest || right_count < fewest) continue;
    // The sums are those of differences from the mean: that of the right side is the negative of the left's.
    const double gain = left_sum * left_sum * (1 / left_count + 1 / right_count);
    if (gain > best.second) best = {i + 1, gain};
  }
  return best;
}

/// The first cell of the right side: in the middle between cells with samples.
std::uint32_t Border(const SplitTally& left, const SplitTally& right) { return (left.cell + right.cell + 1) / 2; }

CellSet CellsBelow(const CellSet& box, std::uint32_t border) {
  return {box.begin(), std::ranges::lower_bound(box, border)};
}

/// The first `cut` of `tallies` and, when more samples lie on the left, all categories without samples.
CellSet CategoriesOfLeft(const CellSet& box, const std::vector<SplitTally>& tallies, std::size_t cut) {
  const auto count = [](double sum, const SplitTally& tally) { return sum + tally.count; };
  const auto middle = tallies.begin() + static_cast<std::ptrdiff_t>(cut);
  const bool left_is_larger =
      std::accumulate(tallies.begin(), middle, 0.0, count) > std::accumulate(middle, tallies.end(), 0.0, count);
  CellSet left;
  for (const auto cell : box) {
    const auto at = std::ranges::find(tallies, cell, &SplitTally::cell);
    if (at == tallies.end() ? left_is_larger : at < middle) left.push_back(cell);
  }
  return left;
}

Split SplitOf(const AxisCells& cells, std::size_t axis, const CellSet& box, const Samples& samples, double mean,
              const TreeSettings& settings) {
  auto tallies = TallyCells(samples, axis, cells.size(), mean);
  if (!cells.is_ordered()) std::ranges::stable_sort(tallies, {}, &SplitTally::mean);
  const auto [cut, gain] =
      BestCut(tallies, static_cast<double>(samples.size()), static_cast<double>(settings.fewest_in_leaf));
  if (cut == 0) return {};
  auto left = cells.is_ordered() ? CellsBelow(box, Border(tallies[cut - 1], tallies[cut]))
                                 : CategoriesOfLeft(box, tallies, cut);
  return {axis, std::move(left), gain};
}

/// Those of the left side and those of the right side.
std::pair<Samples, Samples> Part(const Samples& samples, const Split& split) {
  std::pair<Samples, Samples> sides;
  for (const auto* sample : samples) {
    const bool is_left = std::ranges::binary_search(split.left, sample->cells[split.axis]);
    (is_left ? sides.first : sides.second).push_back(sample);
  }
  return sides;
}

/// Some axes in random order.
std::vector<std::size_t> DrawAxes(std::size_t axes, double part, Draws& draws) {
  std::vector<std::size_t> order(axes);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto wanted = static_cast<std::size_t>(std::ceil(part * static_cast<double>(axes)));
  for (std::size_t i = 0; i < wanted; ++i) std::swap(order[i], order[i + draws.Below(axes - i)]);
  order.resize(wanted);
  return order;
}

class Grower {
 public:
  Grower(const std::vector<AxisCells>& cells, Draws& draws, const TreeSettings& settings)
      : cells_(cells), draws_(draws), settings_(settings) {}

  void Grow(CellBox box, const Samples& samples, Samples followers) {
    const double mean = Mean(samples);
    auto split = BestSplit(box, samples, mean);
    if (!(split.gain > 0)) {
      leaves_.push_back({std::move(box), mean, std::move(followers)});
      return;
    }
    const auto is_left = [&](std::uint32_t cell) { return std::ranges::binary_search(split.left, cell); };
    CellBox right_box = box;
    std::erase_if(right_box[split.axis], is_left);
    box[split.axis] = split.left;
    auto [left, right] = Part(samples, split);
    auto [left_followers, right_followers] = Part(followers, split);
    Grow(std::move(box), left, std::move(left_followers));
    Grow(std::move(right_box), right, std::move(right_followers));
  }

  std::vector<Leaf> Leaves() { return std::move(leaves_); }

 private:
  Split BestSplit(const CellBox& box, const Samples& samples, double mean) {
    Split best;
    if (samples.size() < 2 * settings_.fewest_in_leaf) return best;
    for (const auto axis : DrawAxes(cells_.size(), settings_.axes_tried, draws_)) {
      auto split = SplitOf(cells_[axis], axis, box[axis], samples, mean, settings_);
      if (split.gain > best.gain) best = std::move(split);
    }
    return best;
  }

  const std::vector<AxisCells>& cells_;
  Draws& draws_;
  const TreeSettings& settings_;
  std::vector<Leaf> leaves_;
};

}  // namespace

std::vector<Leaf> GrowTree(const std::vector<AxisCells>& cells, std::vector<const CellSample*> samples,
                           std::vector<const CellSample*> followers, Draws& draws, const TreeSettings& settings) {
  CellBox everything;
  for (const auto& axis : cells) {
    everything.emplace_back(axis.size());
    std::iota(everything.back().begin(), everything.back().end(), std::uint32_t{0});
  }
  Grower grower(cells, draws, settings);
  grower.Grow(std::move(everything), samples, std::move(followers));
  return grower.Leaves();
}

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

/// The quantile `part` over the space: the first value with at least that part at or below it.
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
