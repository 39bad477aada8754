/// The parts of an ordered axis: how much of [0, 1] belongs to each value.
#pragma once

#include "ensemble/search/cube/encoding.h"

namespace slipway::ensemble {

/// All numbers from `low` to `high` are rounded to the same value.
struct Part {
  double low = 0;
  double high = 1;
  double place = 0.5;     ///< of that value, as Encoding gives it
  bool is_first = false;  ///< numbers below 0 are rounded to it, too
  bool is_last = false;   ///< numbers above 1 are
};

/// Whether the parts of an axis are so wide that they matter; beyond 4096 even ones it is as good as continuous.
bool HasParts(const Encoding& encoding, std::size_t axis);

/// Whether all parts are equally wide: those of every ordered axis but `int_log`.
bool HasEvenParts(const Encoding& encoding, std::size_t axis);

/// The part around `at`, of an axis that has parts.
Part PartAround(const Encoding& encoding, std::size_t axis, double at);

}  // namespace slipway::ensemble
