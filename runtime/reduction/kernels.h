/// The inner loops of reduction.h, compiled once for each generation of processors.
#pragma once

#include "runtime/reduction/reduction.h"

namespace slipway::runtime {

/// One set of loops; reduction.h describes them.
struct Kernels {
  void (*combine)(const Reduction&, const void*, const void*, void*, std::int64_t);
  void (*combine_all)(const Reduction&, const void* const*, int, void* const*, int, std::int64_t, int);
  void (*finish)(const Reduction&, void*, std::int64_t, int);
  void (*narrow)(const float*, void*, std::int64_t, slipway_dtype);
  void (*widen)(const void*, float*, std::int64_t, slipway_dtype);
  double (*sum_of_squares)(const void*, std::int64_t, slipway_dtype);
  bool (*all_finite)(const void*, std::int64_t, slipway_dtype);
  void (*scale)(void*, std::int64_t, slipway_dtype, double);
};

namespace baseline {
extern const Kernels kKernels;
}
#if defined(__x86_64__)
namespace avx2 {
extern const Kernels kKernels;
}
namespace avx512 {
extern const Kernels kKernels;
}
#endif

}  // namespace slipway::runtime
