/// Values for tests of reductions: small whole numbers, so that results are exact in every dtype and in every order.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "runtime/reduction/reduction.h"

namespace slipway::test {

inline constexpr slipway_dtype kDtypes[] = {SLIPWAY_FLOAT32, SLIPWAY_FLOAT64, SLIPWAY_INT32,
                                            SLIPWAY_INT64,   SLIPWAY_FLOAT16, SLIPWAY_BFLOAT16};
inline constexpr slipway_op kOperations[] = {SLIPWAY_SUM, SLIPWAY_MEAN, SLIPWAY_MIN, SLIPWAY_MAX, SLIPWAY_PRODUCT};

/// Products of up to nine such values are powers of two: exact, too.
inline double ValueOf(int rank, std::int64_t index, slipway_op op) {
  const auto seed = rank * 7919 + index * 31;
  if (op == SLIPWAY_PRODUCT) return std::vector<double>{1, -1, 2, -2}[static_cast<std::size_t>(seed % 4)];
  return static_cast<double>(seed % 17 - 8);
}

/// Combined over the ranks one after the other.
inline double ExpectedOf(std::int64_t index, slipway_op op, int ranks) {
  double result = ValueOf(0, index, op);
  for (int rank = 1; rank < ranks; ++rank) {
    const double value = ValueOf(rank, index, op);
    if (op == SLIPWAY_MIN) result = std::min(result, value);
    if (op == SLIPWAY_MAX) result = std::max(result, value);
    if (op == SLIPWAY_PRODUCT) result *= value;
    if (op == SLIPWAY_SUM || op == SLIPWAY_MEAN) result += value;
  }
  return op == SLIPWAY_MEAN ? result / ranks : result;
}

/// An array of any dtype, `misaligned` bytes behind an aligned address.
class Array {
 public:
  Array(slipway_dtype dtype, std::int64_t count, std::size_t misaligned = 0)
      : dtype_(dtype),
        count_(count),
        misaligned_(misaligned),
        memory_(static_cast<std::size_t>(count) * runtime::SizeOf(dtype) + misaligned + 1) {}

  char* data() { return memory_.data() + misaligned_; }
  std::size_t bytes() const { return static_cast<std::size_t>(count_) * runtime::SizeOf(dtype_); }

  void Set(std::int64_t index, double value) {
    switch (dtype_) {
      case SLIPWAY_FLOAT32: return Put(index, static_cast<float>(value));
      case SLIPWAY_FLOAT64: return Put(index, value);
      case SLIPWAY_INT32: return Put(index, static_cast<std::int32_t>(value));
      case SLIPWAY_INT64: return Put(index, static_cast<std::int64_t>(value));
      default: break;
    }
    const auto wide = static_cast<float>(value);
    std::uint16_t narrow = 0;
    runtime::Narrow(&wide, &narrow, 1, dtype_);
    Put(index, narrow);
  }
  double Get(std::int64_t index) {
    switch (dtype_) {
      case SLIPWAY_FLOAT32: return Take<float>(index);
      case SLIPWAY_FLOAT64: return Take<double>(index);
      case SLIPWAY_INT32: return Take<std::int32_t>(index);
      case SLIPWAY_INT64: return static_cast<double>(Take<std::int64_t>(index));
      default: break;
    }
    const auto narrow = Take<std::uint16_t>(index);
    float wide = 0;
    runtime::Widen(&narrow, &wide, 1, dtype_);
    return wide;
  }

  void Fill(int rank, slipway_op op) {
    for (std::int64_t i = 0; i < count_; ++i) Set(i, ValueOf(rank, i, op));
  }
  /// Elements that are not the serial result. Quotients are rounded as the dtype allows.
  std::int64_t WrongOnes(slipway_op op, int ranks) {
    const double tolerance = dtype_ == SLIPWAY_BFLOAT16 ? 1.0 / 256 : dtype_ == SLIPWAY_FLOAT16 ? 1.0 / 2048 : 1e-6;
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < count_; ++i) {
      const double expected = ExpectedOf(i, op, ranks);
      const bool rounded = op == SLIPWAY_MEAN && !runtime::IsInteger(dtype_);
      const double right = runtime::IsInteger(dtype_) ? std::trunc(expected) : expected;
      if (!(std::abs(Get(i) - right) <= (rounded ? std::abs(expected) * tolerance : 0))) ++wrong;
    }
    return wrong;
  }

 private:
  template <class Number>
  void Put(std::int64_t index, Number value) {
    std::memcpy(data() + static_cast<std::size_t>(index) * sizeof value, &value, sizeof value);
  }
  template <class Number>
  Number Take(std::int64_t index) {
    Number value;
    std::memcpy(&value, data() + static_cast<std::size_t>(index) * sizeof value, sizeof value);
    return value;
  }

  slipway_dtype dtype_;
  std::int64_t count_;
  std::size_t misaligned_;
  std::vector<char> memory_;
};

}  // namespace slipway::test
