#include "runtime/exchange/replicas.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "runtime/exchange/content_hash.h"
#include "runtime/group/agreement.h"
#include "runtime/status.h"

namespace slipway::runtime {

void CheckReplicas(std::span<const TensorInfo> tensors, Communicator& communicator) {
  std::vector<std::uint64_t> ours;
  for (const auto& tensor : tensors) ours.push_back(ContentHash(tensor.data, tensor.bytes()));
  auto reference = ours;
  communicator.Broadcast(reference.data(), reference.size() * sizeof reference.front(), 0);
  const auto first = std::mismatch(ours.begin(), ours.end(), reference.begin()).first - ours.begin();
  const auto first_of_all = communicator.Min(static_cast<std::uint64_t>(first));
  OnAllRanks(communicator, [&] {
    if (first_of_all == tensors.size() || static_cast<std::uint64_t>(first) != first_of_all) return;
    throw RuntimeError(SLIPWAY_ERROR_MISMATCH,
                       fmt::format("'{}' differs from rank {}: the replicas have drifted apart",
                                   tensors[first_of_all].name, communicator.job_ranks().front()));
  });
}

}  // namespace slipway::runtime
