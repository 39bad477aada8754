/// The parts of an ordered axis: how much of [0, 1] belongs to each value.
#pragma once

#include "ensemble/search/encoding.h"

namespace slipway::ensemble {

/// All numbers from `low` to `high` are rounded to the same value.
struct Part {
  double low = 0;
  double high = 1;
  bool is_first = false;  ///< numbers below 0 are rounded to it, too
  bool is_last = false;   ///< numbers above 1 are
};

/// Whether the values of an axis are so few that their parts matter; beyond 4096 it is as good as continuous.
bool HasParts(const Axis& axis);

/// The part around `at`, of an axis that has parts.
Part PartAround(const Axis& axis, double at);

}  // namespace slipway::ensemble
