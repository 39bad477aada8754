#include "runtime/reduction/reduction.h"

#include <algorithm>
#include <array>

#include "runtime/reduction/kernels.h"

namespace slipway::runtime {
namespace {

const Kernels& Choose() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
    return avx512::kKernels;
  }
  if (__builtin_cpu_supports("avx2")) return avx2::kKernels;
#endif
  return baseline::kKernels;
}

const Kernels& Use() {
  static const Kernels& chosen = Choose();
  return chosen;
}

}  // namespace

std::size_t SizeOf(slipway_dtype dtype) {
  switch (dtype) {
    case SLIPWAY_FLOAT32:
    case SLIPWAY_INT32: return 4;
    case SLIPWAY_FLOAT64:
    case SLIPWAY_INT64: return 8;
    case SLIPWAY_FLOAT16:
    case SLIPWAY_BFLOAT16: return 2;
    case SLIPWAY_UINT8: return 1;
  }
  return 0;
}

const char* NameOf(slipway_dtype dtype) {
  switch (dtype) {
    case SLIPWAY_FLOAT32: return "float32";
    case SLIPWAY_FLOAT64: return "float64";
    case SLIPWAY_INT32: return "int32";
    case SLIPWAY_INT64: return "int64";
    case SLIPWAY_FLOAT16: return "float16";
    case SLIPWAY_BFLOAT16: return "bfloat16";
    case SLIPWAY_UINT8: return "uint8";
  }
  return "unknown";
}

bool IsNumber(slipway_dtype dtype) { return SizeOf(dtype) > 1; }

bool IsInteger(slipway_dtype dtype) { return dtype == SLIPWAY_INT32 || dtype == SLIPWAY_INT64; }

void Combine(const Reduction& reduction, const void* left, const void* right, void* out, std::int64_t count) {
  Use().combine(reduction, left, right, out, count);
}

void CombineAll(const Reduction& reduction, const void* const* inputs, int input_count, void* const* outputs,
                int output_count, std::int64_t count, int ranks) {
  Use().combine_all(reduction, inputs, input_count, outputs, output_count, count, ranks);
}

void Finish(const Reduction& reduction, void* data, std::int64_t count, int ranks) {
  if (reduction.op == SLIPWAY_MEAN) Use().finish(reduction, data, count, ranks);
}

void Narrow(const float* from, void* to, std::int64_t count, slipway_dtype format) {
  Use().narrow(from, to, count, format);
}

void Widen(const void* from, float* to, std::int64_t count, slipway_dtype format) {
  Use().widen(from, to, count, format);
}

double SumOfSquares(const void* data, std::int64_t count, slipway_dtype dtype) {
  return Use().sum_of_squares(data, count, dtype);
}

bool AllFinite(const void* data, std::int64_t count, slipway_dtype dtype) {
  return Use().all_finite(data, count, dtype);
}

bool AllFiniteAs(slipway_dtype format, const float* data, std::int64_t count) {
  constexpr std::int64_t kPiece = 4096;
  std::array<std::uint16_t, kPiece> narrow;
  for (std::int64_t first = 0; first < count; first += kPiece) {
    const auto some = std::min(kPiece, count - first);
    Narrow(data + first, narrow.data(), some, format);
    if (!AllFinite(narrow.data(), some, format)) return false;
  }
  return true;
}

void Scale(void* data, std::int64_t count, slipway_dtype dtype, double factor) {
  Use().scale(data, count, dtype, factor);
}

}  // namespace slipway::runtime
