/// The axes of a search space cut into cells, in which the analysis counts trials.
#pragma once

#include <vector>

#include "ensemble/search/cube/encoding.h"

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

}  // namespace slipway::ensemble
