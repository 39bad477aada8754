/// The number in a scalar value.
#pragma once

#include "ensemble/model/scalar.h"

namespace slipway::ensemble {

/// The number; NaN for a text, a truth value or null.
double NumberOf(const Scalar& value);

}  // namespace slipway::ensemble
