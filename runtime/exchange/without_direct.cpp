#include "runtime/exchange/without_direct.h"

namespace slipway::runtime {

WithoutDirect WithoutDirectFor(CpuWork work) {
  switch (work) {
    case CpuWork::kDelay: return WithoutDirect::kDelayed;
    case CpuWork::kClipNorm: return WithoutDirect::kClipNorm;
    case CpuWork::kCheckFinite: return WithoutDirect::kCheckFinite;
    case CpuWork::kCompress: return WithoutDirect::kCompress;
    case CpuWork::kAccumulate: return WithoutDirect::kAccumulate;
    case CpuWork::kCheckSums: return WithoutDirect::kCheckSums;
  }
  return WithoutDirect::kDelayed;
}

const char* WordsOf(WithoutDirect why) {
  switch (why) {
    case WithoutDirect::kDelayed: return ReasonOf(CpuWork::kDelay);
    case WithoutDirect::kClipNorm: return ReasonOf(CpuWork::kClipNorm);
    case WithoutDirect::kCheckFinite: return ReasonOf(CpuWork::kCheckFinite);
    case WithoutDirect::kCompress: return ReasonOf(CpuWork::kCompress);
    case WithoutDirect::kAccumulate: return ReasonOf(CpuWork::kAccumulate);
    case WithoutDirect::kCheckSums: return ReasonOf(CpuWork::kCheckSums);
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
