/// Arithmetic that tolerates binary rounding of decimals: 0.1 + 0.2 counts as 0.3.
#pragma once

namespace slipway::ensemble {

/// Whether two numbers are equal but for the rounding of a few operations: some units in the last place. Whole numbers
/// are compared exactly. NaN equals no number.
bool IsSameNumber(double left, double right);

/// The nearest whole number if `number` differs from it only by rounding, else `number`.
double WithoutRounding(double number);

/// left + right; 0 when only rounding keeps the sum from 0.
double SumOf(double left, double right);

/// The remainder, with the sign of `number`. 0 when the quotient is whole but for rounding. Exact for whole numbers;
/// NaN for a division by 0.
double RemainderOf(double number, double divisor);

}  // namespace slipway::ensemble
