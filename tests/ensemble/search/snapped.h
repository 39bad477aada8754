/// Coordinates as a trial has them.
#pragma once

#include "ensemble/search/cube/encoding.h"

namespace slipway::ensemble {

inline Coordinates Snapped(const Encoding& encoding, const Coordinates& at) {
  return encoding.Encode(encoding.Decode(at));
}

}  // namespace slipway::ensemble
