/// The parts of an ordered axis: the interval of [0, 1] that belongs to each value.
#pragma once

#include "ensemble/search/cube/encoding.h"

namespace slipway::ensemble {

/// An interval of numbers that are rounded to the same value.
struct Part {
  double low = 0;
  double high = 1;
  double place = 0.5;     ///< of that value, as Encoding gives it
  bool is_first = false;  ///< numbers below 0 are rounded to it, too
  bool is_last = false;   ///< numbers above 1 are rounded to it, too
};

/// Whether the parts of an axis are wide enough to matter. An axis with more than 4096 even parts counts as continuous.
bool HasParts(const Encoding& encoding, std::size_t axis);

/// Whether all parts are equally wide: so on every ordered axis but `int_log`.
bool HasEvenParts(const Encoding& encoding, std::size_t axis);

/// The part around `at`, on an axis that has parts.
Part PartAround(const Encoding& encoding, std::size_t axis, double at);

}  // namespace slipway::ensemble
