/// What binary arithmetic adds to decimals: 0.1 + 0.2 is meant to be 0.3.
#pragma once

namespace slipway::ensemble {

/// Equal but for what a few operations may have rounded off: some units in the last place. Whole numbers are compared
/// exactly. NaN is equal to nothing.
bool IsSameNumber(double left, double right);

/// The whole number that `number` is but for rounding, else `number` itself.
double WithoutRounding(double number);

/// left + right; 0 when they cancel but for rounding.
double SumOf(double left, double right);

/// The remainder with the sign of `number`; 0 when the quotient is whole but for rounding. That of whole numbers is
/// exact; NaN of a division by 0.
double RemainderOf(double number, double divisor);

}  // namespace slipway::ensemble
