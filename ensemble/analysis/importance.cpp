#include "ensemble/analysis/importance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/error.h"
#include "ensemble/analysis/forest.h"

namespace slipway::ensemble {
namespace {

constexpr double kTreesBeyondRange = 0.05;  // at each end

/// One tree as a function on the whole space, less its mean.
class TreeVariance {
 public:
  TreeVariance(const std::vector<Leaf>& leaves, const std::vector<AxisCells>& cells) : leaves_(leaves), cells_(cells) {
    double mean = 0;
    for (const auto& leaf : leaves_) {
      volumes_.push_back(VolumeOf(leaf.box, cells_));
      mean += volumes_.back() * leaf.value;
    }
    for (const auto& leaf : leaves_) values_.push_back(leaf.value - mean);
  }

  double Total() const {
    double total = 0;
    for (std::size_t l = 0; l < leaves_.size(); ++l) total += volumes_[l] * values_[l] * values_[l];
    return total;
  }

  /// Variance of the mean over all axes but `axis`.
  double Main(std::size_t axis) const {
    std::vector<double> mean(cells_[axis].size(), 0.0);
    for (std::size_t l = 0; l < leaves_.size(); ++l) {
      const double part = volumes_[l] / WidthOf(l, axis) * values_[l];
      for (const auto cell : leaves_[l].box[axis]) mean[cell] += part;
    }
    return MeanSquare(mean);
  }

  /// Variance of the mean over all axes but these two.
  double Both(std::size_t first, std::size_t second) const {
    const auto columns = cells_[second].size();
    std::vector<double> mean(cells_[first].size() * columns, 0.0);
    for (std::size_t l = 0; l < leaves_.size(); ++l) {
      const double part = volumes_[l] / (WidthOf(l, first) * WidthOf(l, second)) * values_[l];
      for (const auto row : leaves_[l].box[first]) {
        for (const auto column : leaves_[l].box[second]) mean[row * columns + column] += part;
      }
    }
    return MeanSquare(mean);
  }

 private:
  double WidthOf(std::size_t leaf, std::size_t axis) const {
    return static_cast<double>(leaves_[leaf].box[axis].size()) / static_cast<double>(cells_[axis].size());
  }
  static double MeanSquare(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value * value;
    return sum / static_cast<double>(values.size());
  }

  const std::vector<Leaf>& leaves_;
  const std::vector<AxisCells>& cells_;
  std::vector<double> volumes_;
  std::vector<double> values_;
};

/// The predictions of the trees for the trials that they did not learn from.
class Forecasts {
 public:
  Forecasts(std::vector<double> values, std::vector<double> parts)
      : values_(std::move(values)), parts_(std::move(parts)), sums_(values_.size()), counts_(values_.size()) {}

  void Add(std::size_t trial, double value) {
    sums_[trial] += value;
    ++counts_[trial];
  }

  /// 1 less the mean square error, in parts of the variance; both over the space.
  double Predicted() const {
    const double mean = Sum([&](std::size_t i) { return values_[i]; }) / Sum([](std::size_t) { return 1.0; });
    const double variance = Sum([&](std::size_t i) { return std::pow(values_[i] - mean, 2); });
    const double error = Sum([&](std::size_t i) { return std::pow(values_[i] - sums_[i] / counts_[i], 2); });
    return variance > 0 ? std::max(0.0, 1 - error / variance) : 0;
  }

 private:
  /// Over the trials with a forecast.
  template <class Term>
  double Sum(const Term& term) const {
    double sum = 0;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (counts_[i] > 0) sum += parts_[i] * term(i);
    }
    return sum;
  }

  std::vector<double> values_;
  std::vector<double> parts_;
  std::vector<double> sums_;
  std::vector<double> counts_;
};

/// The shares of one tree: those of the axes, then those of the pairs.
std::vector<double> SharesOf(const TreeVariance& tree, std::size_t axes, const std::vector<PairShare>& pairs) {
  const double total = tree.Total();
  std::vector<double> shares;
  for (std::size_t i = 0; i < axes; ++i) shares.push_back(tree.Main(i) / total);
  for (const auto& [first, second, _] : pairs) {
    shares.push_back(std::max(0.0, tree.Both(first, second) / total - shares[first] - shares[second]));
  }
  return shares;
}

/// Share number `i` of `trees`, which are not empty.
Share Average(const std::vector<std::vector<double>>& trees, std::size_t i, double predicted) {
  std::vector<double> shares;
  Share share;
  for (const auto& tree : trees) {
    shares.push_back(tree[i]);
    share.mean += tree[i] / static_cast<double>(trees.size());
  }
  std::ranges::sort(shares);
  const auto beyond = static_cast<std::size_t>(kTreesBeyondRange * static_cast<double>(shares.size()));
  share.low = shares[beyond] * predicted;
  share.high = shares[shares.size() - 1 - beyond] * predicted + 1 - predicted;
  return share;
}

/// A sample of the trials, drawn with replacement, and the trials that are not in it.
struct Lots {
  std::vector<const CellSample*> drawn;
  std::vector<const CellSample*> others;
};

Lots DrawLots(const std::vector<CellSample>& samples, Draws& draws) {
  Lots lots;
  std::vector<bool> is_drawn(samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto lot = draws.Below(samples.size());
    lots.drawn.push_back(&samples[lot]);
    is_drawn[lot] = true;
  }
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (!is_drawn[i]) lots.others.push_back(&samples[i]);
  }
  return lots;
}

std::vector<PairShare> PairsOf(std::size_t axes) {
  std::vector<PairShare> pairs;
  for (std::size_t i = 0; i < axes; ++i) {
    for (std::size_t j = i + 1; j < axes; ++j) pairs.push_back({i, j, {}});
  }
  return pairs;
}

bool Varies(std::span<const Observation> trials) {
  return std::ranges::any_of(trials, [&](const auto& trial) { return trial.value != trials.front().value; });
}

/// The shares of a tree of some of the trials, which predicts the others; empty when it is one leaf.
std::vector<double> SharesOfTree(const std::vector<AxisCells>& cells, const std::vector<CellSample>& samples,
                                 const std::vector<PairShare>& pairs, Draws& draws, Forecasts& forecasts) {
  auto [drawn, others] = DrawLots(samples, draws);
  const auto leaves = GrowTree(cells, std::move(drawn), std::move(others), draws);
  for (const auto& leaf : leaves) {
    for (const auto* other : leaf.followers) {
      forecasts.Add(static_cast<std::size_t>(other - samples.data()), leaf.value);
    }
  }
  if (leaves.size() == 1) return {};
  return SharesOf(TreeVariance(leaves, cells), cells.size(), pairs);
}

}  // namespace

VarianceShares Fanova(const Encoding& encoding, std::span<const Observation> trials, const FanovaOptions& options) {
  const auto cells = CellsOf(encoding);
  const auto axes = cells.size();
  VarianceShares result{0, std::vector<Share>(axes), PairsOf(options.pairs ? axes : 0)};
  if (!Varies(trials)) return result;
  const auto parts = PartsOfSpace(cells, trials, options.seed);
  const auto values = TamedValues(trials, parts);
  Forecasts forecasts(values, parts);
  std::vector<std::vector<double>> trees;
  for (int tree = 0; tree < options.trees; ++tree) {
    Draws draws(options.seed, tree, "fanova");
    auto samples = SamplesOf(cells, trials, draws);
    for (std::size_t i = 0; i < samples.size(); ++i) samples[i].value = values[i];
    auto shares = SharesOfTree(cells, samples, result.pairs, draws, forecasts);
    if (!shares.empty()) trees.push_back(std::move(shares));
  }
  if (trees.empty()) trees.emplace_back(axes + result.pairs.size(), 0.0);
  result.predicted = forecasts.Predicted();
  for (std::size_t i = 0; i < axes; ++i) result.main[i] = Average(trees, i, result.predicted);
  for (std::size_t i = 0; i < result.pairs.size(); ++i) {
    result.pairs[i].share = Average(trees, axes + i, result.predicted);
  }
  return result;
}

namespace {

void RequireEnough(const Observations& known) {
  if (known.complete.size() >= kFewestTrialsForImportance) return;
  throw Error(
      ErrorKind::kUsage,
      fmt::format("importance needs at least {} trials with a value, this ensemble has {} ({} ended without, {} "
                  "not ended)",
                  kFewestTrialsForImportance, known.complete.size(), known.failed.size(), known.pending.size()),
      "wait for more trials, or raise ensemble.trials");
}

}  // namespace

Importances ImportancesOf(const Encoding& encoding, const Observations& known, const ImportanceOptions& options) {
  RequireEnough(known);
  FanovaOptions fanova;
  fanova.seed = options.seed;
  fanova.pairs = options.pairs;
  const auto shares = Fanova(encoding, known.complete, fanova);
  const auto name = [&](std::size_t axis) { return encoding.space().parameters()[encoding.axis(axis).parameter].name; };
  Importances result{known.complete.size(), known.failed.size(), shares.predicted, {}, {}};
  for (std::size_t i = 0; i < shares.main.size(); ++i) result.parameters.push_back({name(i), shares.main[i]});
  for (const auto& pair : shares.pairs) result.pairs.push_back({name(pair.first), name(pair.second), pair.share});
  const auto mean = [](const auto& importance) { return importance.share.mean; };
  std::ranges::stable_sort(result.parameters, std::greater<>(), mean);
  std::ranges::stable_sort(result.pairs, std::greater<>(), mean);
  return result;
}

}  // namespace slipway::ensemble
