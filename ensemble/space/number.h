/// The numbers in scalar values.
#pragma once

#include <cstdint>
#include <optional>

#include "ensemble/model/scalar.h"

namespace slipway::ensemble {

/// Whether it is an integer or a floating-point number.
bool IsNumber(const Scalar& value);

/// The integer that is equal to the value; nothing when it is not whole or beyond 64 bits, or no number.
std::optional<std::int64_t> IntegerOf(const Scalar& value);

/// The number; NaN for a text, a truth value or null.
double NumberOf(const Scalar& value);

}  // namespace slipway::ensemble
