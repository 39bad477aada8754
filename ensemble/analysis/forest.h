/// Regression trees over cells: a function that is constant in boxes, learned from trials. What the trees of a forest
/// learn from, and how much of the space each trial stands for.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ensemble/search/cube/encoding.h"
#include "ensemble/search/numbers/draws.h"
#include "ensemble/search/results/observations.h"

namespace slipway::ensemble {

/// One axis as a row of cells. Continuous axes and ordered ones with many values are cut into kMostCells equal parts,
/// other axes have a cell for each value.
class AxisCells {
 public:
  static constexpr std::size_t kMostCells = 64;

  explicit AxisCells(const Axis& axis);

  std::size_t size() const { return size_; }
  /// Whether neighbouring cells are alike.
  bool is_ordered() const { return is_ordered_; }

  /// `coordinate` is that of an Encoding, and not NaN.
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
  std::vector<const CellSample*> followers;  ///< that fall into it
};

struct TreeSettings {
  std::size_t fewest_in_leaf = 1;
  double axes_tried = 2.0 / 3;  ///< part of the axes that each split may choose from
};

/// Leaves that do not overlap and cover every box of cells. Each split makes the sum of squares of `samples` smallest;
/// categories are cut in the order of their means. `followers` are sorted into the leaves and teach nothing.
///
/// Shape:  at least one sample.
/// Cost:   samples * axes * depth, and cells * axes for each leaf.
/// Source: Breiman, Friedman, Olshen, Stone: "Classification and regression trees", 1984.
std::vector<Leaf> GrowTree(const std::vector<AxisCells>& cells, std::vector<const CellSample*> samples,
                           std::vector<const CellSample*> followers, Draws& draws, const TreeSettings& settings = {});

/// Trials in cells. A parameter that is not active in a trial would change nothing there: it gets a random cell.
std::vector<CellSample> SamplesOf(const std::vector<AxisCells>& cells, std::span<const Observation> trials,
                                  Draws& draws);

/// Of all values of all axes, which part `box` holds.
double VolumeOf(const CellBox& box, const std::vector<AxisCells>& cells);

/// How much of the space each trial stands for; they sum to 1. Little where a sampler has looked closely. A forest cuts
/// the space where the order of the values changes, and the trials in a leaf share its volume.
std::vector<double> PartsOfSpace(const std::vector<AxisCells>& cells, std::span<const Observation> trials,
                                 std::uint64_t seed);

/// The trials' values without those of another order of magnitude: where 90 % of the space lies between q5 and q95,
/// a value beyond q95 + (q95 - q5) becomes that: larger is worse.
std::vector<double> TamedValues(std::span<const Observation> trials, const std::vector<double>& parts);

}  // namespace slipway::ensemble
