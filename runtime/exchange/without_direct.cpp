#include "runtime/exchange/without_direct.h"

namespace slipway::runtime {
namespace {

const char* ReasonOf(DirectObstacle obstacle) {
  switch (obstacle) {
    case DirectObstacle::kOperation: return "op is neither sum nor mean";
    case DirectObstacle::kDtype: return "a tensor is not of floats";
    case DirectObstacle::kNodes: return "the ranks are on several nodes";
    case DirectObstacle::kAmd: return "AMD's GPUs cannot run the kernel of the sums, which is PTX";
    case DirectObstacle::kMemory:
      return "a rank cannot open the tensors of another one by CUDA IPC: use --gpu-bind=none with an srun of your own, "
             "--ipc=host with containers, and no memory of expandable_segments or cudaMallocAsync";
    case DirectObstacle::kKernel: return "a GPU or its driver cannot run the kernel of the sums";
    case DirectObstacle::kWrongSums: return "the GPUs give wrong sums of each other's memory";
    case DirectObstacle::kFull: return "a GPU has no memory left";
    case DirectObstacle::kOrder: return "the CPU does not add up in rank order, by the table of algorithms";
  }
  return "";
}

}  // namespace

const char* WordsOf(const WithoutDirect& why) {
  return std::visit([](auto reason) { return ReasonOf(reason); }, why);
}

}  // namespace slipway::runtime
