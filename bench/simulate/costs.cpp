// The arithmetic of runtime/reduction/reduction.h as the simulation does it: it takes its time and touches nothing.

#include "bench/simulate/costs.h"

#include <smpi/smpi.h>

#include "runtime/reduction/reduction.h"

namespace slipway::bench {

void SpendOnCombining(double bytes) {
  if (bytes > 0) smpi_execute_flops(bytes);
}

void SpendOnMemory(double bytes) { SpendOnCombining(bytes / kNodeMemory * kCombineRate); }

}  // namespace slipway::bench

namespace slipway::runtime {
namespace {

void Spend(const Reduction& reduction, std::int64_t count, int operands) {
  bench::SpendOnCombining(static_cast<double>(count) * static_cast<double>(SizeOf(reduction.dtype)) * operands);
}

}  // namespace

/// Gradients are float32 here.
std::size_t SizeOf(slipway_dtype /*dtype*/) { return sizeof(float); }

void Combine(const Reduction& reduction, const void* /*left*/, const void* /*right*/, void* /*out*/,
             std::int64_t count) {
  Spend(reduction, count, 1);
}

void CombineAll(const Reduction& reduction, const void* const* /*inputs*/, int input_count, void* const* /*outputs*/,
                int /*output_count*/, std::int64_t count, int /*ranks*/) {
  Spend(reduction, count, input_count - 1);
}

void Finish(const Reduction& /*reduction*/, void* /*data*/, std::int64_t /*count*/, int /*ranks*/) {}

}  // namespace slipway::runtime
