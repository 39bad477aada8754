#include "ensemble/search/gaussian_process/features.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace slipway::ensemble {
namespace {

// The root mean square distance of two random places of an axis is the root of 1/6.
const double kInactiveOffset = std::sqrt(1.0 / 6.0);
constexpr double kCategory = 1 / std::numbers::sqrt2;

}  // namespace

FeatureMap::FeatureMap(const Encoding& encoding) {
  for (const auto& axis : encoding.axes()) {
    const bool conditional = encoding.space().parameters()[axis.parameter].when.has_value();
    const bool categorical = axis.kind == AxisKind::kCategorical;
    blocks_.push_back({axis.kind, size(), categorical ? axis.values : 0, conditional && !categorical, 0.5});
    const std::size_t columns = categorical ? axis.values : (conditional ? 2 : 1);
    axis_of_.insert(axis_of_.end(), columns, blocks_.size() - 1);
  }
}

FeatureMap FeatureMap::Focused(const Coordinates& centre, double zoom) const {
  FeatureMap focused = *this;
  focused.zoom_ = zoom;
  for (std::size_t i = 0; i < centre.size(); ++i) {
    if (!std::isnan(centre[i])) focused.blocks_[i].middle = centre[i];
  }
  return focused;
}

void FeatureMap::Write(const Coordinates& at, std::span<double> features) const {
  std::ranges::fill(features, 0.0);
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    if (std::isnan(at[i])) continue;
    if (block.kind == AxisKind::kCategorical) {
      features[block.begin + std::min(static_cast<std::size_t>(at[i]), block.values - 1)] = kCategory;
    } else {
      features[block.begin] = zoom_ * (at[i] - block.middle);
      if (block.can_be_inactive) features[block.begin + 1] = kInactiveOffset;
    }
  }
}

}  // namespace slipway::ensemble
