#include "runtime/selection/gpu_exchange.h"

namespace slipway::runtime {

WordTable<GpuExchange> WordsOf(GpuExchange) {
  static constexpr Word<GpuExchange> kWords[] = {
      {GpuExchange::kAuto, "auto", "the GPUs of a node where they can; others only with deterministic: false"},
      {GpuExchange::kStaged, "staged", "the CPU"},
      {GpuExchange::kDirect, "direct", "the GPUs of a node"},
      {GpuExchange::kNccl, "nccl", "NCCL, in an order of its own"},
      {GpuExchange::kMpi, "mpi", "an MPI that takes memory of GPUs, in an order of its own"}};
  return kWords;
}

}  // namespace slipway::runtime
