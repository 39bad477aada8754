/// Why the GPUs of a node do not combine a team's tensors themselves.
#pragma once

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

/// For comm.json and messages: "clip_norm is set".
const char* WordsOf(WithoutDirect why);

}  // namespace slipway::runtime
