/// Combining elements: the arithmetic of all collectives, the same bits on every kind of processor.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/slipway.h"

namespace slipway::runtime {

/// What is done to elements of one dtype.
struct Reduction {
  slipway_dtype dtype = SLIPWAY_FLOAT32;
  slipway_op op = SLIPWAY_SUM;
};

/// Bytes of one element; 0 for a value that is no dtype.
std::size_t SizeOf(slipway_dtype dtype);
/// "float32"; "unknown" for a value that is no dtype.
const char* NameOf(slipway_dtype dtype);
/// True for a dtype that can be combined, not only moved.
bool IsNumber(slipway_dtype dtype);
bool IsInteger(slipway_dtype dtype);
/// Partial sums of such a mean may not fit its dtype. So CombineAll computes it where the elements of all ranks are.
inline bool IsMeanOfIntegers(const Reduction& reduction) {
  return reduction.op == SLIPWAY_MEAN && IsInteger(reduction.dtype);
}

/// out[i] = left[i] op right[i] for `count` elements; a mean is added up. `out` may be `left` or `right`.
///
/// Result: 16-bit floats are combined in float32 and rounded to nearest even. Sums and products of integers wrap
///         around. Minimum and maximum are those of IEEE 754-2019: NaN when there is one, -0 below +0. So they do not
///         depend on the order, and a NaN is always the same one.
void Combine(const Reduction& reduction, const void* left, const void* right, void* out, std::int64_t count);

/// Combines inputs[0], inputs[1], ... in this order, and writes the result to all of `outputs`; of a mean the quotient
/// by `ranks`. An output may be one of the inputs. No alignment is asked for.
///
/// Result: 16-bit floats are combined in float32 and rounded once, at the end. The mean of integers is that of their
///         exact sum, rounded towards zero.
/// Cost:   each input is read once, each output written once.
void CombineAll(const Reduction& reduction, const void* const* inputs, int input_count, void* const* outputs,
                int output_count, std::int64_t count, int ranks);

/// Turns sums into what the operation promises: the quotient by `ranks` of a mean (times 1/ranks), in place. Not for
/// IsMeanOfIntegers.
void Finish(const Reduction& reduction, void* data, std::int64_t count, int ranks);

/// Rounds float32 to a 16-bit format (nearest even; NaN stays NaN) and back. `format`: SLIPWAY_FLOAT16 or BFLOAT16.
void Narrow(const float* from, void* to, std::int64_t count, slipway_dtype format);
void Widen(const void* from, float* to, std::int64_t count, slipway_dtype format);

/// Sum of squares in float64; bits that depend on `count` alone, not on the processor.
double SumOfSquares(const void* data, std::int64_t count, slipway_dtype dtype);
/// False when an element is NaN or infinite.
bool AllFinite(const void* data, std::int64_t count, slipway_dtype dtype);
/// The same of what Narrow() makes of them: what is larger than 65504 is infinite as a 16-bit float.
bool AllFiniteAs(slipway_dtype format, const float* data, std::int64_t count);
/// Multiplies floats in place.
void Scale(void* data, std::int64_t count, slipway_dtype dtype, double factor);

}  // namespace slipway::runtime
