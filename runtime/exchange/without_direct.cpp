#include "runtime/exchange/without_direct.h"

namespace slipway::runtime {

const char* WordsOf(WithoutDirect why) {
  switch (why) {
    case WithoutDirect::kDelayed: return "mode is delayed";
    case WithoutDirect::kClipNorm: return "clip_norm is set";
    case WithoutDirect::kCheckFinite: return "check_finite is set";
    case WithoutDirect::kCompress: return "compress is set";
    case WithoutDirect::kAccumulate: return "accumulate is set, and op is mean";
    case WithoutDirect::kCheckSums: return "trace.sums is set";
    case WithoutDirect::kOperation: return "op is neither sum nor mean";
    case WithoutDirect::kDtype: return "a tensor is not of floats";
    case WithoutDirect::kNodes: return "the ranks are on several nodes";
    case WithoutDirect::kAmd: return "AMD's GPUs cannot run the kernel of the sums, which is PTX";
    case WithoutDirect::kMemory: return "a rank cannot open the tensors of another one by CUDA IPC";
    case WithoutDirect::kKernel: return "a GPU or its driver cannot run the kernel of the sums";
    case WithoutDirect::kWrongSums: return "the GPUs give wrong sums of each other's memory";
    case WithoutDirect::kFull: return "a GPU has no memory left";
  }
  return "";
}

}  // namespace slipway::runtime
