#include "runtime/exchange/combined_tensors.h"

namespace slipway::runtime {

const char* WordOf(CombineWay way) {
  switch (way) {
    case CombineWay::kStaged: return "staged";
    case CombineWay::kDirect: return "direct";
    case CombineWay::kNccl: return "nccl";
    case CombineWay::kNcclInNodes: return "nccl_in_nodes";
    case CombineWay::kMpi: return "mpi";
  }
  return "";
}

CombinedTensors::CombinedTensors(const DevicePlace& place, std::span<const TensorInfo> tensors)
    : place_(place), tensors_(tensors.begin(), tensors.end()), arrivals_(place), done_(place), sums_(place) {}

void CombinedTensors::Fetch(std::span<const int> tensors, StreamHandle stream) {
  const InContext here(place_);
  arrivals_.Add(tensors, stream);
}

}  // namespace slipway::runtime
