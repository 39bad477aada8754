/// Regression trees over cells: functions that are constant in boxes, learned from trials. Also the samples that the
/// trees of a forest learn from, and the part of the space that each trial represents.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ensemble/search/cube/encoding.h"
#include "ensemble/search/numbers/draws.h"
#include "ensemble/search/results/observations.h"

namespace slipway::ensemble {

/// One axis as a row of cells. Continuous axes, and ordered ones with many values, are cut into kMostCells equal parts.
/// Other axes have a cell for each value.
class AxisCells {
 public:
  static constexpr std::size_t kMostCells = 64;

  explicit AxisCells(const Axis& axis);

  std::size_t size() const { return size_; }
  /// Whether the cells have an order.
  bool is_ordered() const { return is_ordered_; }

  /// The cell of a coordinate of an Encoding, which is not NaN.
  std::size_t CellOf(double coordinate) const;

 private:
  bool is_ordered_;
  std::size_t size_;
};

/// The cells of each axis.
std::vector<AxisCells> CellsOf(const Encoding& encoding);

/// A trial in cells: one cell for each axis, and its value.
struct CellSample {
  std::vector<std::uint32_t> cells;
  double value = 0;
};

/// For each axis the cells that belong to it, ascending.
using CellBox = std::vector<std::vector<std::uint32_t>>;

struct Leaf {
  CellBox box;
  double value = 0;                          ///< mean of its samples
  std::vector<const CellSample*> followers;  ///< the followers in its box
};

struct TreeSettings {
  std::size_t fewest_in_leaf = 1;
  double axes_tried = 2.0 / 3;  ///< the part of the axes that each split chooses from
};

/// Grows a tree. Its leaves do not overlap, and cover all cells. Each split minimises the sum of squares of `samples`;
/// categories are cut in the order of their means. `followers` are sorted into the leaves, but not learnt from.
///
/// Shape:  at least one sample.
/// Cost:   samples * axes * depth, and cells * axes for each leaf.
/// Source: Breiman, Friedman, Olshen, Stone: "Classification and regression trees", 1984.
std::vector<Leaf> GrowTree(const std::vector<AxisCells>& cells, std::vector<const CellSample*> samples,
                           std::vector<const CellSample*> followers, Draws& draws, const TreeSettings& settings = {});

/// Trials as cells. A parameter that is not active in a trial gets a random cell, because it would change nothing.
std::vector<CellSample> SamplesOf(const std::vector<AxisCells>& cells, std::span<const Observation> trials,
                                  Draws& draws);

/// The part of the whole space that `box` covers.
double VolumeOf(const CellBox& box, const std::vector<AxisCells>& cells);

/// The part of the space that each trial represents; the parts sum to 1. They are small where a sampler has placed many
/// trials. A forest cuts the space where the order of the values changes; the trials in a leaf share its volume.
std::vector<double> PartsOfSpace(const std::vector<AxisCells>& cells, std::span<const Observation> trials,
                                 std::uint64_t seed);

/// The trials' values, with those of another order of magnitude clipped. q5 and q95 are quantiles over the space: 90 %
/// of it lies between them. A value beyond q95 + (q95 - q5) becomes this limit. Larger is worse.
std::vector<double> TamedValues(std::span<const Observation> trials, const std::vector<double>& parts);

}  // namespace slipway::ensemble
