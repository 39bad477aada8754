/// Who combines tensors in the memory of GPUs. Also read by the launcher, for specs.
#pragma once

#include "core/words.h"

namespace slipway::runtime {

enum class GpuExchange {
  kAuto,    ///< the GPUs where they can, else the CPU, and single messages the faster one; NCCL where any bits are good
  kStaged,  ///< the CPU
  kDirect,  ///< the GPUs of a node, or it is an error
  kNccl,    ///< NCCL, or it is an error
  kMpi,     ///< an MPI that takes memory of GPUs, or it is an error
};
WordTable<GpuExchange> WordsOf(GpuExchange);

/// A library adds up, in an order of its own: no promise of bits holds.
constexpr bool AddsInOwnOrder(GpuExchange way) { return way == GpuExchange::kNccl || way == GpuExchange::kMpi; }

}  // namespace slipway::runtime
