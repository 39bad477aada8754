// Compiled several times, with SLIPWAY_KERNELS naming the namespace and other processor flags each time. So nothing
// here has external linkage except the table. The linker could take a shared function from here, and it would run on a
// processor that lacks the instructions.

#include "runtime/reduction/kernels.h"

namespace slipway::runtime::SLIPWAY_KERNELS {
namespace {

// Elements are read and written through these types: any alignment, and any dynamic type of the memory behind.
template <class Number>
struct Loose {
  typedef Number type __attribute__((aligned(1), may_alias));
};
template <class Number>
using In = const typename Loose<Number>::type* __restrict;
template <class Number>
using Any = typename Loose<Number>::type*;

float BitsToFloat(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }
std::uint32_t FloatToBits(float value) { return __builtin_bit_cast(std::uint32_t, value); }

/// A 16-bit float as it lies in memory. Conversions are free of branches, so that loops over them are vectorised.
struct __attribute__((packed, may_alias)) Bfloat16 {
  std::uint16_t bits;

  operator float() const { return BitsToFloat(static_cast<std::uint32_t>(bits) << 16); }
  static Bfloat16 Round(float value) {
    const std::uint32_t bits = FloatToBits(value);
    const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    const std::uint32_t nan = (bits >> 16) | 0x40u;  // quiet
    return {static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded)};
  }
};

struct __attribute__((packed, may_alias)) Float16 {
  std::uint16_t bits;

  operator float() const {
    const std::uint32_t magnitude = bits & 0x7fffu;
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
    // Moved into place, the exponent is too small by 112. Subnormal numbers count steps of 2^-24, as 0.5 has them. No
    // float on the way is subnormal: a program may have set the processor to take those for zero.
    const std::uint32_t normal = (magnitude << 13) + (112u << 23);
    const std::uint32_t small = FloatToBits(BitsToFloat(magnitude | 0x3f000000u) - 0.5f);
    const std::uint32_t special = (magnitude << 13) | 0x7f800000u;  // infinity and NaN
    const std::uint32_t finite = magnitude < 0x400u ? small : normal;
    return BitsToFloat((magnitude >= 0x7c00u ? special : finite) | sign);
  }
  static Float16 Round(float value) {
    const std::uint32_t bits = FloatToBits(value);
    const std::uint32_t sign = (bits >> 16) & 0x8000u;
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    const std::uint32_t special = magnitude > 0x7f800000u ? 0x7e00u | ((magnitude >> 13) & 0x3ffu) : 0x7c00u;
    // Below 2^-14 the result is subnormal: adding 0.5 lets the float adder round at the right place.
    const std::uint32_t small = FloatToBits(BitsToFloat(magnitude) + 0.5f) - FloatToBits(0.5f);
    const std::uint32_t normal = (magnitude - (112u << 23) + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
    const std::uint32_t finite = magnitude < (113u << 23) ? small : normal;
    return {static_cast<std::uint16_t>((magnitude >= (143u << 23) ? special : finite) | sign)};
  }
};

template <>
struct Loose<Bfloat16> {
  using type = Bfloat16;
};
template <>
struct Loose<Float16> {
  using type = Float16;
};

/// The type that elements are combined in, and the way back.
template <class Number>
struct Wide {
  using type = Number;
  static Number Round(Number value) { return value; }
};
template <>
struct Wide<Bfloat16> {
  using type = float;
  static Bfloat16 Round(float value) { return Bfloat16::Round(value); }
};
template <>
struct Wide<Float16> {
  using type = float;
  static Float16 Round(float value) { return Float16::Round(value); }
};
// Unsigned, so that integers wrap around instead of being undefined.
template <>
struct Wide<std::int32_t> {
  using type = std::uint32_t;
  static std::int32_t Round(std::uint32_t value) { return static_cast<std::int32_t>(value); }
};
template <>
struct Wide<std::int64_t> {
  using type = std::uint64_t;
  static std::int64_t Round(std::uint64_t value) { return static_cast<std::int64_t>(value); }
};
template <class Number>
using WideOf = typename Wide<Number>::type;

template <class Number>
struct Sum {
  static WideOf<Number> Of(WideOf<Number> a, WideOf<Number> b) { return a + b; }
};
template <class Number>
struct Product {
  static WideOf<Number> Of(WideOf<Number> a, WideOf<Number> b) { return a * b; }
};
template <class Number>
constexpr bool kIsInteger = false;
template <>
constexpr bool kIsInteger<std::int32_t> = true;
template <>
constexpr bool kIsInteger<std::int64_t> = true;

std::uint64_t DoubleToBits(double value) { return __builtin_bit_cast(std::uint64_t, value); }
double BitsToDouble(std::uint64_t bits) { return __builtin_bit_cast(double, bits); }

// Of two equal numbers, which differ in the sign at most: -0 if one is, +0 if one is.
float LesserZero(float a, float b) { return BitsToFloat(FloatToBits(a) | FloatToBits(b)); }
float GreaterZero(float a, float b) { return BitsToFloat(FloatToBits(a) & FloatToBits(b)); }
double LesserZero(double a, double b) { return BitsToDouble(DoubleToBits(a) | DoubleToBits(b)); }
double GreaterZero(double a, double b) { return BitsToDouble(DoubleToBits(a) & DoubleToBits(b)); }

// As minimum and maximum of IEEE 754-2019: NaN if one of the two is NaN, and -0 lies below +0. Always the same NaN, so
// that the order of the operands leaves no trace in the bits.
template <class Wider>
Wider NanOr(Wider value, Wider a, Wider b) {
  return a != a || b != b ? static_cast<Wider>(__builtin_nan("")) : value;
}
template <class Wider>
Wider Least(Wider a, Wider b) {
  return NanOr(a < b ? a : a == b ? LesserZero(a, b) : b, a, b);
}
template <class Wider>
Wider Greatest(Wider a, Wider b) {
  return NanOr(a > b ? a : a == b ? GreaterZero(a, b) : b, a, b);
}

/// Integers are compared in the signed type.
template <class Number>
struct Minimum {
  static WideOf<Number> Of(WideOf<Number> a, WideOf<Number> b) {
    if constexpr (kIsInteger<Number>) return Wide<Number>::Round(a) < Wide<Number>::Round(b) ? a : b;
    if constexpr (!kIsInteger<Number>) return Least(a, b);
  }
};
template <class Number>
struct Maximum {
  static WideOf<Number> Of(WideOf<Number> a, WideOf<Number> b) {
    if constexpr (kIsInteger<Number>) return Wide<Number>::Round(a) > Wide<Number>::Round(b) ? a : b;
    if constexpr (!kIsInteger<Number>) return Greatest(a, b);
  }
};

/// What is done to a sum at the end: nothing, or the quotient of a mean.
template <class Number>
struct Same {
  WideOf<Number> Of(WideOf<Number> value) const { return value; }
};
template <class Number>
struct Quotient {
  WideOf<Number> factor;
  WideOf<Number> Of(WideOf<Number> value) const { return value * factor; }
};

template <class Number>
Quotient<Number> QuotientBy(int ranks) {
  return {WideOf<Number>(1) / static_cast<WideOf<Number>>(ranks)};
}

/// Where a sum of so many integers always fits.
template <class Number>
struct Exact;
template <>
struct Exact<std::int32_t> {
  using type = std::int64_t;
};
template <>
struct Exact<std::int64_t> {
  __extension__ typedef __int128 type;
};

template <class Number, class Operation>
void CombineAs(const void* left, const void* right, void* out, std::int64_t count) {
  const auto* a = static_cast<const typename Loose<Number>::type*>(left);
  const auto* b = static_cast<const typename Loose<Number>::type*>(right);
  auto* result = static_cast<Any<Number>>(out);
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) result[i] = Wide<Number>::Round(Operation::Of(a[i], b[i]));
}

/// Two inputs, two outputs, which may be the inputs: the exchange between two ranks.
template <class Number, class Operation, class Last>
void CombineTwo(const void* first, const void* second, void* to, void* also_to, std::int64_t count, Last last) {
  const auto* a = static_cast<const typename Loose<Number>::type*>(first);
  const auto* b = static_cast<const typename Loose<Number>::type*>(second);
  auto* out = static_cast<Any<Number>>(to);
  auto* also = static_cast<Any<Number>>(also_to);
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) {
    const Number result = Wide<Number>::Round(last.Of(Operation::Of(a[i], b[i])));
    out[i] = result;
    also[i] = result;
  }
}

constexpr std::int64_t kBlock = 1024;  ///< elements kept in the first cache between inputs and outputs

template <class Number>
void Store(const WideOf<Number>* wide, void* const* outputs, int output_count, std::int64_t offset,
           std::int64_t count) {
  Number narrow[kBlock];
  for (std::int64_t i = 0; i < count; ++i) narrow[i] = Wide<Number>::Round(wide[i]);
  for (int output = 0; output < output_count; ++output) {
    __builtin_memcpy(static_cast<Any<Number>>(outputs[output]) + offset, narrow,
                     static_cast<std::size_t>(count) * sizeof(Number));
  }
}

template <class Number, class Operation, class Last>
void CombineBlock(const void* const* inputs, int input_count, void* const* outputs, int output_count,
                  std::int64_t offset, std::int64_t count, Last last) {
  const auto at = [&](int input) { return static_cast<const typename Loose<Number>::type*>(inputs[input]) + offset; };
  WideOf<Number> wide[kBlock];
  const auto* first = at(0);
  if (input_count == 1) {
    for (std::int64_t i = 0; i < count; ++i) wide[i] = last.Of(first[i]);
    return Store<Number>(wide, outputs, output_count, offset, count);
  }
  const auto* second = at(1);
  for (std::int64_t i = 0; i < count; ++i) wide[i] = Operation::Of(first[i], second[i]);
  for (int input = 2; input < input_count; ++input) {
    const auto* next = at(input);
    for (std::int64_t i = 0; i < count; ++i) wide[i] = Operation::Of(wide[i], next[i]);
  }
  for (std::int64_t i = 0; i < count; ++i) wide[i] = last.Of(wide[i]);
  Store<Number>(wide, outputs, output_count, offset, count);
}

template <class Number, class Operation, class Last>
void CombineAllAs(const void* const* inputs, int input_count, void* const* outputs, int output_count,
                  std::int64_t count, Last last) {
  if (input_count == 2 && output_count <= 2) {
    return CombineTwo<Number, Operation>(inputs[0], inputs[1], outputs[0], outputs[output_count - 1], count, last);
  }
  for (std::int64_t done = 0; done < count; done += kBlock) {
    const auto block = count - done < kBlock ? count - done : kBlock;
    CombineBlock<Number, Operation>(inputs, input_count, outputs, output_count, done, block, last);
  }
}

/// The mean of integers: of their exact sum, rounded towards zero.
template <class Number>
void MeanOfIntegers(const void* const* inputs, int input_count, void* const* outputs, int output_count,
                    std::int64_t count, int ranks) {
  using Total = typename Exact<Number>::type;
  for (std::int64_t i = 0; i < count; ++i) {
    Total total = 0;
    for (int input = 0; input < input_count; ++input) {
      total += static_cast<const typename Loose<Number>::type*>(inputs[input])[i];
    }
    const auto mean = static_cast<Number>(total / ranks);
    for (int output = 0; output < output_count; ++output) static_cast<Any<Number>>(outputs[output])[i] = mean;
  }
}

template <class Number>
struct Functions {
  static void Combine(slipway_op op, const void* left, const void* right, void* out, std::int64_t count) {
    switch (op) {
      case SLIPWAY_SUM:
      case SLIPWAY_MEAN: return CombineAs<Number, Sum<Number>>(left, right, out, count);
      case SLIPWAY_MIN: return CombineAs<Number, Minimum<Number>>(left, right, out, count);
      case SLIPWAY_MAX: return CombineAs<Number, Maximum<Number>>(left, right, out, count);
      case SLIPWAY_PRODUCT: return CombineAs<Number, Product<Number>>(left, right, out, count);
    }
  }
  static void CombineAll(slipway_op op, const void* const* inputs, int input_count, void* const* outputs,
                         int output_count, std::int64_t count, int ranks) {
    const auto run = [&]<class Operation, class Last>(Operation, Last last) {
      CombineAllAs<Number, Operation>(inputs, input_count, outputs, output_count, count, last);
    };
    switch (op) {
      case SLIPWAY_SUM: return run(Sum<Number>(), Same<Number>());
      case SLIPWAY_MEAN:
        if constexpr (kIsInteger<Number>) {
          return MeanOfIntegers<Number>(inputs, input_count, outputs, output_count, count, ranks);
        } else {
          return run(Sum<Number>(), QuotientBy<Number>(ranks));
        }
      case SLIPWAY_MIN: return run(Minimum<Number>(), Same<Number>());
      case SLIPWAY_MAX: return run(Maximum<Number>(), Same<Number>());
      case SLIPWAY_PRODUCT: return run(Product<Number>(), Same<Number>());
    }
  }
  /// Not of integers: their sum may have wrapped around.
  static void Finish(void* data, std::int64_t count, int ranks) {
    if constexpr (!kIsInteger<Number>) {
      auto* values = static_cast<Any<Number>>(data);
      const auto last = QuotientBy<Number>(ranks);
      for (std::int64_t i = 0; i < count; ++i) values[i] = Wide<Number>::Round(last.Of(values[i]));
    }
  }
};

/// Calls `action` with a null pointer of the C++ type of a dtype that can be combined.
template <class Action>
void WithType(slipway_dtype dtype, Action action) {
  switch (dtype) {
    case SLIPWAY_FLOAT32: return action(static_cast<float*>(nullptr));
    case SLIPWAY_FLOAT64: return action(static_cast<double*>(nullptr));
    case SLIPWAY_INT32: return action(static_cast<std::int32_t*>(nullptr));
    case SLIPWAY_INT64: return action(static_cast<std::int64_t*>(nullptr));
    case SLIPWAY_FLOAT16: return action(static_cast<Float16*>(nullptr));
    case SLIPWAY_BFLOAT16: return action(static_cast<Bfloat16*>(nullptr));
    case SLIPWAY_UINT8: return;
  }
}

void Combine(const Reduction& reduction, const void* left, const void* right, void* out, std::int64_t count) {
  WithType(reduction.dtype,
           [&]<class Number>(Number*) { Functions<Number>::Combine(reduction.op, left, right, out, count); });
}

void CombineAll(const Reduction& reduction, const void* const* inputs, int input_count, void* const* outputs,
                int output_count, std::int64_t count, int ranks) {
  WithType(reduction.dtype, [&]<class Number>(Number*) {
    Functions<Number>::CombineAll(reduction.op, inputs, input_count, outputs, output_count, count, ranks);
  });
}

void Finish(const Reduction& reduction, void* data, std::int64_t count, int ranks) {
  WithType(reduction.dtype, [&]<class Number>(Number*) { Functions<Number>::Finish(data, count, ranks); });
}

template <class Short>
void NarrowAs(const float* from, void* to, std::int64_t count) {
  In<float> source = from;
  auto* result = static_cast<Any<Short>>(to);
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) result[i] = Short::Round(source[i]);
}

void Narrow(const float* from, void* to, std::int64_t count, slipway_dtype format) {
  format == SLIPWAY_FLOAT16 ? NarrowAs<Float16>(from, to, count) : NarrowAs<Bfloat16>(from, to, count);
}

template <class Short>
void WidenAs(const void* from, float* to, std::int64_t count) {
  const auto* source = static_cast<const typename Loose<Short>::type*>(from);
  Any<float> result = to;
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) result[i] = source[i];
}

void Widen(const void* from, float* to, std::int64_t count, slipway_dtype format) {
  format == SLIPWAY_FLOAT16 ? WidenAs<Float16>(from, to, count) : WidenAs<Bfloat16>(from, to, count);
}

/// Eight running sums in a fixed pattern: the same additions whatever the width of the vectors.
template <class Number>
double SquaresAs(const void* data, std::int64_t count) {
  const auto* values = static_cast<const typename Loose<Number>::type*>(data);
  double sums[8] = {};
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (int lane = 0; lane < 8; ++lane) {
      const auto value = static_cast<double>(values[i + lane]);
      sums[lane] += value * value;
    }
  }
  double total = 0;
  for (; i < count; ++i) {
    const auto value = static_cast<double>(values[i]);
    total += value * value;
  }
  for (const double sum : sums) total += sum;
  return total;
}

double SumOfSquares(const void* data, std::int64_t count, slipway_dtype dtype) {
  double total = 0;
  WithType(dtype, [&]<class Number>(Number*) { total = SquaresAs<Number>(data, count); });
  return total;
}

/// x - x is 0 for every finite x, NaN otherwise.
template <class Number>
bool FiniteAs(const void* data, std::int64_t count) {
  const auto* values = static_cast<const typename Loose<Number>::type*>(data);
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const WideOf<Number> value = values[i];
    wrong += value - value != 0 ? 1 : 0;
  }
  return wrong == 0;
}

bool AllFinite(const void* data, std::int64_t count, slipway_dtype dtype) {
  bool finite = true;
  WithType(dtype, [&]<class Number>(Number*) { finite = FiniteAs<Number>(data, count); });
  return finite;
}

template <class Number>
void ScaleAs(void* data, std::int64_t count, double factor) {
  auto* values = static_cast<Any<Number>>(data);
  const auto by = static_cast<WideOf<Number>>(factor);
  for (std::int64_t i = 0; i < count; ++i) values[i] = Wide<Number>::Round(static_cast<WideOf<Number>>(values[i]) * by);
}

void Scale(void* data, std::int64_t count, slipway_dtype dtype, double factor) {
  switch (dtype) {
    case SLIPWAY_FLOAT32: return ScaleAs<float>(data, count, factor);
    case SLIPWAY_FLOAT64: return ScaleAs<double>(data, count, factor);
    case SLIPWAY_FLOAT16: return ScaleAs<Float16>(data, count, factor);
    case SLIPWAY_BFLOAT16: return ScaleAs<Bfloat16>(data, count, factor);
    default: return;
  }
}

}  // namespace

extern const Kernels kKernels;
const Kernels kKernels{Combine, CombineAll, Finish, Narrow, Widen, SumOfSquares, AllFinite, Scale};

}  // namespace slipway::runtime::SLIPWAY_KERNELS
