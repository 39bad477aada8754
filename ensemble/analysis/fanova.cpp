#include "ensemble/analysis/fanova.h"

#include <algorithm>

#include "ensemble/analysis/regression_tree.h"

namespace slipway::ensemble {
namespace {

/// How much each cell of each axis counts; those of an axis sum to 1.
using Weights = std::vector<std::vector<double>>;

std::vector<CellSample> SamplesOf(const std::vector<AxisCells>& cells, std::span<const Observation> trials) {
  std::vector<CellSample> samples;
  for (const auto& trial : trials) {
    CellSample sample{{}, trial.value};
    for (std::size_t i = 0; i < cells.size(); ++i) {
      sample.cells.push_back(static_cast<std::uint32_t>(cells[i].CellOf(trial.at[i])));
    }
    samples.push_back(std::move(sample));
  }
  return samples;
}

Weights WeightsOf(const std::vector<AxisCells>& cells, const std::vector<CellSample>& samples) {
  Weights weights;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto is_inactive = [&](const CellSample& sample) { return sample.cells[i] == cells[i].active(); };
    const double inactive =
        static_cast<double>(std::ranges::count_if(samples, is_inactive)) / static_cast<double>(samples.size());
    weights.emplace_back(cells[i].active(), (1 - inactive) / static_cast<double>(cells[i].active()));
    if (cells[i].has_inactive()) weights.back().push_back(inactive);
  }
  return weights;
}

/// One tree as a function on the whole space, less its mean.
class TreeVariance {
 public:
  TreeVariance(std::vector<Leaf> leaves, const Weights& weights) : leaves_(std::move(leaves)), weights_(weights) {
    double mean = 0;
    for (const auto& leaf : leaves_) {
      widths_.push_back(WidthsOf(leaf.box));
      volumes_.push_back(1);
      for (const double width : widths_.back()) volumes_.back() *= width;
      mean += volumes_.back() * leaf.value;
    }
    for (auto& leaf : leaves_) leaf.value -= mean;
  }

  double Total() const {
    double total = 0;
    for (std::size_t l = 0; l < leaves_.size(); ++l) total += volumes_[l] * leaves_[l].value * leaves_[l].value;
    return total;
  }

  /// Variance of the mean over all axes but `axis`.
  double Main(std::size_t axis) const {
    std::vector<double> mean(weights_[axis].size(), 0.0);
    for (std::size_t l = 0; l < leaves_.size(); ++l) {
      const double part = volumes_[l] / widths_[l][axis] * leaves_[l].value;
      for (const auto cell : leaves_[l].box[axis]) mean[cell] += part;
    }
    double variance = 0;
    for (std::size_t i = 0; i < mean.size(); ++i) variance += weights_[axis][i] * mean[i] * mean[i];
    return variance;
  }

  /// Variance of the mean over all axes but these two.
  double Both(std::size_t first, std::size_t second) const {
    const auto columns = weights_[second].size();
    std::vector<double> mean(weights_[first].size() * columns, 0.0);
    for (std::size_t l = 0; l < leaves_.size(); ++l) {
      const double part = volumes_[l] / (widths_[l][first] * widths_[l][second]) * leaves_[l].value;
      for (const auto row : leaves_[l].box[first]) {
        for (const auto column : leaves_[l].box[second]) mean[row * columns + column] += part;
      }
    }
    double variance = 0;
    for (std::size_t i = 0; i < mean.size(); ++i) {
      variance += weights_[first][i / columns] * weights_[second][i % columns] * mean[i] * mean[i];
    }
    return variance;
  }

 private:
  std::vector<double> WidthsOf(const CellBox& box) const {
    std::vector<double> widths(box.size(), 0.0);
    for (std::size_t i = 0; i < box.size(); ++i) {
      for (const auto cell : box[i]) widths[i] += weights_[i][cell];
    }
    return widths;
  }

  std::vector<Leaf> leaves_;
  const Weights& weights_;
  std::vector<std::vector<double>> widths_;  // of each leaf along each axis
  std::vector<double> volumes_;
};

/// Adds the shares of one tree.
void Add(const TreeVariance& tree, VarianceShares& shares) {
  const double total = tree.Total();
  if (!(total > 0)) return;
  std::vector<double> main;
  for (std::size_t i = 0; i < shares.main.size(); ++i) {
    main.push_back(tree.Main(i));
    shares.main[i] += main[i] / total;
  }
  for (auto& pair : shares.pairs) {
    const double both = tree.Both(pair.first, pair.second) - main[pair.first] - main[pair.second];
    pair.share += std::max(0.0, both) / total;
  }
}

}  // namespace

VarianceShares Fanova(const Encoding& encoding, std::span<const Observation> trials, const FanovaOptions& options) {
  const auto cells = CellsOf(encoding, trials);
  const auto samples = SamplesOf(cells, trials);
  const auto weights = WeightsOf(cells, samples);
  VarianceShares shares;
  shares.main.assign(cells.size(), 0.0);
  for (std::size_t i = 0; options.pairs && i < cells.size(); ++i) {
    for (std::size_t j = i + 1; j < cells.size(); ++j) shares.pairs.push_back({i, j, 0.0});
  }
  for (int tree = 0; tree < options.trees; ++tree) {
    Draws draws(options.seed, tree, "fanova");
    std::vector<const CellSample*> drawn;
    for (std::size_t i = 0; i < samples.size(); ++i) drawn.push_back(&samples[draws.Below(samples.size())]);
    Add(TreeVariance(GrowTree(cells, std::move(drawn), draws), weights), shares);
  }
  for (auto& share : shares.main) share /= options.trees;
  for (auto& pair : shares.pairs) pair.share /= options.trees;
  return shares;
}

}  // namespace slipway::ensemble
