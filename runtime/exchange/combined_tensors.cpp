#include "runtime/exchange/combined_tensors.h"

namespace slipway::runtime {

const char* WordOf(CombineWay way) {
  switch (way) {
    case CombineWay::kStaged: return "staged";
    case CombineWay::kDirect: return "direct";
    case CombineWay::kNccl: return "nccl";
    case CombineWay::kNcclInNodes: return "nccl_in_nodes";
  }
  return "";
}

CombinedTensors::CombinedTensors(const DevicePlace& place, std::span<const TensorInfo> tensors)
    : place_(place),
      tensors_(tensors.begin(), tensors.end()),
      made_(place),
      done_(place),
      arrivals_(place),
      sums_(place) {
  for (std::size_t i = 0; i < tensors_.size(); ++i) arrived_.emplace_back(place);
}

void CombinedTensors::Fetch(int tensor, StreamHandle stream) {
  const InContext here(place_);
  made_.Record(stream);
  made_.HoldBack(arrivals_.handle());
  arrived_[static_cast<std::size_t>(tensor)].Record(arrivals_.handle());
  coming_.push_back(tensor);
}

std::optional<int> CombinedTensors::TakeArrived() {
  if (coming_.empty()) return std::nullopt;
  const InContext here(place_);
  const int tensor = coming_.front();
  if (!arrived_[static_cast<std::size_t>(tensor)].Reached()) return std::nullopt;
  coming_.pop_front();
  return tensor;
}

}  // namespace slipway::runtime
