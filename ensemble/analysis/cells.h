/// The axes of a search space cut into cells, in which the analysis counts trials.
#pragma once

#include <span>
#include <vector>

#include "ensemble/search/results/observations.h"

namespace slipway::ensemble {

/// One axis as a row of cells. Continuous axes and ordered ones with many values are cut into kMostCells equal parts,
/// other axes have a cell for each value. Trials in which the parameter is not active have a cell of their own, the
/// last.
class AxisCells {
 public:
  static constexpr std::size_t kMostCells = 64;

  AxisCells(const Axis& axis, bool has_inactive);

  std::size_t size() const { return active_ + (has_inactive_ ? 1 : 0); }
  /// Cells of the values: all but that of the inactive.
  std::size_t active() const { return active_; }
  bool has_inactive() const { return has_inactive_; }
  /// Whether neighbouring cells are alike.
  bool is_ordered() const { return is_ordered_; }

  /// `coordinate` is that of an Encoding; NaN is the inactive cell.
  std::size_t CellOf(double coordinate) const;

 private:
  bool is_ordered_;
  bool has_inactive_;
  std::size_t active_;
};

/// The cells of each axis; an axis has the inactive cell when some trial needs it.
std::vector<AxisCells> CellsOf(const Encoding& encoding, std::span<const Observation> trials);

}  // namespace slipway::ensemble
