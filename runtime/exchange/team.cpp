#include "runtime/exchange/team.h"

#include "runtime/collectives/allreduce.h"

namespace slipway::runtime {

std::vector<Team::Run> Team::OneForEach(const std::vector<TensorInfo>& tensors) {
  std::vector<Run> runs;
  for (const auto& tensor : tensors) {
    if (tensor.count() > 0) runs.push_back({tensor.data, tensor.count(), tensor.dtype});
  }
  return runs;
}

std::vector<Team::Run> Team::Joined(const std::vector<Run>& runs) {
  std::vector<Run> joined;
  const void* end = nullptr;
  for (const auto& run : runs) {
    if (!joined.empty() && joined.back().dtype == run.dtype && run.data == end) {
      joined.back().count += run.count;
    } else {
      joined.push_back(run);
    }
    end = static_cast<const char*>(run.data) + static_cast<std::size_t>(run.count) * SizeOf(run.dtype);
  }
  return joined;
}

Team::Team(const std::vector<TensorInfo>& tensors, Communicator& communicator)
    : runs_(OneForEach(tensors)), communicator_(communicator) {
  // Where memory lies is each rank's own affair: reduce as one only where all ranks can.
  auto joined = Joined(runs_);
  if (communicator_.Max(joined.size()) == 1) runs_ = std::move(joined);
}

void Team::ExchangeMean() {
  for (const auto& run : runs_) Allreduce(run.data, run.count, run.dtype, SLIPWAY_MEAN, communicator_);
}

}  // namespace slipway::runtime
