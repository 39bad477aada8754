/// Why the GPUs of a node do not combine a team's tensors themselves.
#pragma once

#include "core/cpu_work.h"

namespace slipway::runtime {

enum class WithoutDirect {
  kDelayed,
  kClipNorm,
  kCheckFinite,
  kCompress,
  kAccumulate,
  kCheckSums,
  kOperation,
  kDtype,
  kNodes,
  kAmd,
  kMemory,
  kKernel,
  kWrongSums,
  kFull,
};

/// That the CPU has to do this work.
WithoutDirect WithoutDirectFor(CpuWork work);
/// For comm.json and messages: "clip_norm is set".
const char* WordsOf(WithoutDirect why);

}  // namespace slipway::runtime
