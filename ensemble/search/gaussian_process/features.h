/// Coordinates as places in a Euclidean space, so that one distance serves mixed and conditional spaces.
#pragma once

#include <span>
#include <vector>

#include "ensemble/search/cube/encoding.h"

namespace slipway::ensemble {

/// Each axis gets columns of its own, numbers about as large as 0.5:
///   - continuous and ordered: the distance from the middle of the axis;
///   - categorical: one column a value, so that two different values are 1 apart (Hamming);
///   - an inactive axis lies at the origin of its columns. An axis that can be inactive has one more column, which sets
///     inactive apart from active by a third of the axis or more; two inactive ones are not apart at all.
/// As these are places in a Euclidean space, every kernel that is one there is one here (after Swersky et al. 2014,
/// "Raiders of the lost architecture").
class FeatureMap {
 public:
  explicit FeatureMap(const Encoding& encoding);

  std::size_t axes() const { return blocks_.size(); }
  std::size_t size() const { return axis_of_.size(); }
  /// For each column the axis that it belongs to.
  const std::vector<std::size_t>& axis_of() const { return axis_of_; }
  /// The column that moves with a continuous or ordered axis, and by how much.
  std::size_t column(std::size_t axis) const { return blocks_[axis].begin; }
  double zoom() const { return zoom_; }

  /// The neighbourhood of `centre`, enlarged: it lies at the origin of all continuous and ordered axes, of which
  /// 0.5 / `zoom` reaches from the middle to the border. Categories stay as far apart as they were.
  FeatureMap Focused(const Coordinates& centre, double zoom) const;

  /// `features` has size() members.
  void Write(const Coordinates& at, std::span<double> features) const;

 private:
  struct Block {
    AxisKind kind;
    std::size_t begin;   // its first column
    std::size_t values;  // columns of a categorical axis
    bool can_be_inactive;
    double middle;
  };
  std::vector<Block> blocks_;
  std::vector<std::size_t> axis_of_;
  double zoom_ = 1;
};

}  // namespace slipway::ensemble
