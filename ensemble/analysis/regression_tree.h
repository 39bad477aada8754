/// Regression trees over cells: a function that is constant in boxes, learned from trials.
#pragma once

#include <cstdint>
#include <vector>

#include "ensemble/analysis/cells.h"
#include "ensemble/search/numbers/draws.h"

namespace slipway::ensemble {

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

}  // namespace slipway::ensemble
