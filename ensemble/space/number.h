/// The number that a value is.
#pragma once

#include "ensemble/model/scalar.h"

namespace slipway::ensemble {

/// NaN: it is a text, a truth value or null.
double NumberOf(const Scalar& value);

}  // namespace slipway::ensemble
