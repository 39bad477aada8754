#include "runtime/exchange/combined_tensors.h"

namespace slipway::runtime {

WordTable<CombineWay> WordsOf(CombineWay) {
  static constexpr Word<CombineWay> kWords[] = {
      {CombineWay::kStaged, "staged"}, {CombineWay::kDirect, "direct"},
      {CombineWay::kNccl, "nccl"},     {CombineWay::kNcclInNodes, "nccl_in_nodes"},
      {CombineWay::kMpi, "mpi"},
  };
  return kWords;
}

CombinedTensors::CombinedTensors(const DevicePlace& place, std::span<const TensorInfo> tensors)
    : place_(place), tensors_(tensors.begin(), tensors.end()), arrivals_(place), done_(place), sums_(place) {}

void CombinedTensors::Fetch(std::span<const int> tensors, StreamHandle stream) {
  const InContext here(place_);
  arrivals_.Add(tensors, stream);
}

}  // namespace slipway::runtime
