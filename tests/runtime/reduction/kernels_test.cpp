// The arithmetic, against slow references; each set of loops that this processor can run.

#include "runtime/reduction/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/runtime/collectives/numbers.h"

#if defined(__SSE2__)
#include <pmmintrin.h>
#include <xmmintrin.h>
#endif

namespace slipway::test {
namespace {

using namespace slipway::runtime;

struct Named {
  const char* name;
  const Kernels* kernels;
};

std::vector<Named> Tables() {
  std::vector<Named> tables{{"baseline", &baseline::kKernels}};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) tables.push_back({"avx2", &avx2::kKernels});
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
    tables.push_back({"avx512", &avx512::kKernels});
  }
#endif
  return tables;
}

/// A 16-bit format by its definition.
struct Format {
  slipway_dtype dtype;
  int mantissa;  ///< bits
  int least;     ///< exponent of the smallest normal number
  double most;   ///< the largest finite number
};
const Format kFormats[] = {{SLIPWAY_FLOAT16, 10, -14, 65504.0},
                           {SLIPWAY_BFLOAT16, 7, -126, std::ldexp(2.0 - std::ldexp(1.0, -7), 127)}};

double Meaning(std::uint16_t bits, const Format& format) {
  const int exponents = 15 - format.mantissa;
  const int exponent = (bits >> format.mantissa) & ((1 << exponents) - 1);
  const int fraction = bits & ((1 << format.mantissa) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == (1 << exponents) - 1) {
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(fraction, format.least - format.mantissa);
  return sign * std::ldexp(fraction + (1 << format.mantissa), exponent - 1 + format.least - format.mantissa);
}

/// To nearest, ties to even; doubles hold every step on the way exactly.
double Nearest(double value, const Format& format) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double step = std::ldexp(1.0, std::max(std::ilogb(value), format.least) - format.mantissa);
  const double rounded = std::nearbyint(value / step) * step;
  return std::abs(rounded) > format.most ? std::copysign(std::numeric_limits<double>::infinity(), value) : rounded;
}

bool SameNumber(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

std::vector<std::uint16_t> AllBits() {
  std::vector<std::uint16_t> bits(65536);
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<std::uint16_t>(i);
  return bits;
}

/// Every 16-bit number, every middle between two, and the floats next to both; and random ones.
std::vector<float> FloatsAround(const Format& format) {
  std::vector<float> values;
  for (const auto bits : AllBits()) {
    const double value = Meaning(bits, format);
    const double next = Meaning(static_cast<std::uint16_t>(bits + 1), format);
    for (const double near : {value, (value + next) / 2}) {
      const auto number = static_cast<float>(near);
      values.insert(values.end(), {number, std::nextafter(number, INFINITY), std::nextafter(number, -INFINITY)});
    }
  }
  std::mt19937 random(7);
  for (int i = 0; i < 200'000; ++i) values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  for (const float value : {65519.9961f, 65520.0f, FLT_MAX, 0x1p-24f, 0x1p-25f, 0x1.000002p-25f, 1e-45f}) {
    values.insert(values.end(), {value, -value});
  }
  return values;
}

void ExpectConversionsAreRight() {
  for (const auto& [name, kernels] : Tables()) {
    for (const auto& format : kFormats) {
      const auto bits = AllBits();
      std::vector<float> wide(bits.size());
      kernels->widen(bits.data(), wide.data(), 65536, format.dtype);
      const auto values = FloatsAround(format);
      std::vector<std::uint16_t> narrow(values.size());
      kernels->narrow(values.data(), narrow.data(), static_cast<std::int64_t>(values.size()), format.dtype);
      int wrong = 0;
      for (std::size_t i = 0; i < bits.size(); ++i) wrong += SameNumber(wide[i], Meaning(bits[i], format)) ? 0 : 1;
      EXPECT_EQ(wrong, 0) << name << " widens " << NameOf(format.dtype);
      wrong = 0;
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (!SameNumber(Meaning(narrow[i], format), Nearest(values[i], format)) && wrong++ == 0) {
          ADD_FAILURE() << name << " rounds " << values[i] << " to " << Meaning(narrow[i], format);
        }
      }
      EXPECT_EQ(wrong, 0) << name << " narrows to " << NameOf(format.dtype);
    }
  }
}

TEST(Kernels, ConvertEverySixteenBitNumberAndRoundToNearestEven) { ExpectConversionsAreRight(); }

#if defined(__SSE2__)
/// Only what is computed while the processor takes subnormal floats for zero, as programs built with -ffast-math let
/// it.
TEST(Kernels, WidenSubnormalNumbersWhereTheProcessorIgnoresThem) {
  const auto bits = AllBits();
  for (const auto& [name, kernels] : Tables()) {
    std::vector<float> wide(bits.size());
    const auto before = _mm_getcsr();
    _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
    _MM_SET_DENORMALS_ZERO_MODE(_MM_DENORMALS_ZERO_ON);
    kernels->widen(bits.data(), wide.data(), 65536, SLIPWAY_FLOAT16);
    _mm_setcsr(before);
    for (std::size_t i = 0; i < bits.size(); ++i) {
      ASSERT_TRUE(SameNumber(wide[i], Meaning(bits[i], kFormats[0]))) << name << " at " << i;
    }
  }
}
#endif

/// Random numbers of any size; of floats also infinities and, in `nans`, a few NaNs: which of two NaNs a sum keeps is
/// left to the compiler.
std::vector<char> RandomArray(slipway_dtype dtype, std::int64_t count, unsigned seed, bool nans) {
  std::mt19937_64 random(seed);
  std::vector<char> memory(static_cast<std::size_t>(count) * SizeOf(dtype) + 3);
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = std::ldexp(static_cast<double>(random() % 4001) - 2000, static_cast<int>(random() % 40) - 25);
    const bool special = random() % 50 == 0;
    auto number = special ? static_cast<float>(nans ? NAN : INFINITY) : static_cast<float>(value);
    char* at = memory.data() + 3 + static_cast<std::size_t>(i) * SizeOf(dtype);
    const auto whole = static_cast<std::int64_t>(random());
    const auto half = static_cast<std::int32_t>(whole);
    const auto real = static_cast<double>(number) * (special ? 1 : 1.0000001);
    switch (dtype) {
      case SLIPWAY_FLOAT64: std::memcpy(at, &real, 8); break;
      case SLIPWAY_FLOAT32: std::memcpy(at, &number, 4); break;
      case SLIPWAY_INT64: std::memcpy(at, &whole, 8); break;
      case SLIPWAY_INT32: std::memcpy(at, &half, 4); break;
      default: baseline::kKernels.narrow(&number, at, 1, dtype);
    }
  }
  return memory;
}

/// Everything that a table computes from some inputs, as bytes. Nothing is aligned.
std::string BitsOf(const Kernels& kernels, const Reduction& reduction, int input_count, std::int64_t count) {
  std::vector<std::vector<char>> inputs;
  std::vector<const void*> from;
  for (int i = 0; i < input_count; ++i) {
    inputs.push_back(RandomArray(reduction.dtype, count, static_cast<unsigned>(i + 1), i == 0));
    from.push_back(inputs.back().data() + 3);
  }
  std::vector<std::vector<char>> outputs(3, std::vector<char>(inputs[0].size()));
  void* to[] = {outputs[0].data() + 3, outputs[1].data() + 3, outputs[2].data() + 3};
  std::string bits;
  for (int output_count = 1; output_count <= 3; ++output_count) {
    kernels.combine_all(reduction, from.data(), input_count, to, output_count, count, input_count);
    for (const auto& output : outputs) bits.append(output.data(), output.size());
  }
  kernels.combine(reduction, from.front(), from.back(), to[0], count);
  bits.append(outputs[0].data(), outputs[0].size());
  kernels.finish(reduction, to[0], count, input_count + 2);
  kernels.scale(to[0], count, reduction.dtype, 0.37);
  bits.append(outputs[0].data(), outputs[0].size());
  const double squares = kernels.sum_of_squares(inputs.back().data() + 3, count, reduction.dtype);
  bits.append(reinterpret_cast<const char*>(&squares), sizeof squares);
  for (const auto& input : inputs) bits += kernels.all_finite(input.data() + 3, count, reduction.dtype) ? '1' : '0';
  return bits;
}

TEST(Kernels, GiveTheSameBitsOnEveryGenerationOfProcessors) {
  for (const auto dtype : kDtypes) {
    for (const auto op : kOperations) {
      for (const int inputs : {2, 3, 5}) {
        for (const std::int64_t count : {1, 7, 33, 1023, 2500}) {
          const auto expected = BitsOf(baseline::kKernels, {dtype, op}, inputs, count);
          for (const auto& [name, kernels] : Tables()) {
            EXPECT_EQ(BitsOf(*kernels, {dtype, op}, inputs, count), expected)
                << name << ' ' << NameOf(dtype) << " operation " << op << ", " << inputs << " inputs of " << count;
          }
        }
      }
    }
  }
}

TEST(Kernels, KeepANanOfEitherSideInMinimumAndMaximum) {
  for (const auto& [name, kernels] : Tables()) {
    for (const auto op : {SLIPWAY_MIN, SLIPWAY_MAX}) {
      const float left[] = {NAN, 1, NAN, -INFINITY};
      const float right[] = {1, NAN, NAN, INFINITY};
      float result[4];
      kernels->combine({SLIPWAY_FLOAT32, op}, left, right, result, 4);
      for (int i = 0; i < 3; ++i) EXPECT_TRUE(std::isnan(result[i])) << name << i;
      EXPECT_EQ(result[3], op == SLIPWAY_MIN ? -INFINITY : INFINITY);
    }
  }
}

TEST(Kernels, TakeTheLesserZeroInMinimumAndTheGreaterInMaximum) {
  for (const auto& [name, kernels] : Tables()) {
    for (const auto op : {SLIPWAY_MIN, SLIPWAY_MAX}) {
      const float left[] = {0.0f, -0.0f, -0.0f, 0.0f};
      const float right[] = {-0.0f, 0.0f, -0.0f, 0.0f};
      float result[4];
      kernels->combine({SLIPWAY_FLOAT32, op}, left, right, result, 4);
      EXPECT_EQ(std::signbit(result[0]), op == SLIPWAY_MIN) << name;
      EXPECT_EQ(std::signbit(result[1]), op == SLIPWAY_MIN) << name;
      EXPECT_TRUE(std::signbit(result[2])) << name;
      EXPECT_FALSE(std::signbit(result[3])) << name;
    }
  }
}

TEST(Kernels, WrapSumsOfIntegersAroundButRoundTheirExactMeanTowardsZero) {
  for (const auto& [name, kernels] : Tables()) {
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    std::int64_t sum = 0;
    kernels->combine({SLIPWAY_INT64, SLIPWAY_SUM}, &kMost, &kMost, &sum, 1);
    EXPECT_EQ(sum, -2);
    const std::int64_t first[] = {kMost, 7, -7, std::numeric_limits<std::int64_t>::min()};
    const std::int64_t second[] = {kMost - 2, 0, 0, std::numeric_limits<std::int64_t>::min() + 4};
    std::int64_t mean[4];
    const void* inputs[] = {first, second};
    void* output = mean;
    kernels->combine_all({SLIPWAY_INT64, SLIPWAY_MEAN}, inputs, 2, &output, 1, 4, 2);
    EXPECT_EQ(mean[0], kMost - 1) << name;
    EXPECT_EQ(mean[1], 3);
    EXPECT_EQ(mean[2], -3);
    EXPECT_EQ(mean[3], std::numeric_limits<std::int64_t>::min() + 2);
    const std::int32_t negative[] = {-3, 4};
    EXPECT_EQ(kernels->sum_of_squares(negative, 2, SLIPWAY_INT32), 25);
  }
}

}  // namespace
}  // namespace slipway::test
