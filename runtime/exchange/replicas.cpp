#include "runtime/exchange/replicas.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/group/agreement.h"
#include "runtime/status.h"

namespace slipway::runtime {
namespace {

/// 64 bits of the bytes. Each step is one-to-one in the state, so that a change within one word is always seen; any
/// other change is missed once in 2^64. Two CRCs with different seeds would not do: they collide together.
std::uint64_t Hash(const char* data, std::size_t size) {
  std::uint64_t state = size;
  while (size > 0) {
    std::uint64_t word = 0;
    const auto taken = std::min(size, sizeof word);
    std::memcpy(&word, data, taken);
    state = (state ^ word) * 0x9e3779b97f4a7c15u;
    state ^= state >> 32;
    data += taken;
    size -= taken;
  }
  return state;
}

}  // namespace

void CheckReplicas(std::span<const TensorInfo> tensors, Communicator& communicator) {
  std::vector<std::uint64_t> ours;
  for (const auto& tensor : tensors) ours.push_back(Hash(static_cast<const char*>(tensor.data), tensor.bytes()));
  auto reference = ours;
  communicator.Broadcast(reference.data(), reference.size() * sizeof reference.front(), 0);
  const auto first = std::mismatch(ours.begin(), ours.end(), reference.begin()).first - ours.begin();
  const auto first_of_all = communicator.Min(static_cast<std::uint64_t>(first));
  OnAllRanks(communicator, [&] {
    if (first_of_all == tensors.size() || static_cast<std::uint64_t>(first) != first_of_all) return;
    throw RuntimeError(SLIPWAY_ERROR_MISMATCH, fmt::format("'{}' differs from rank 0: the replicas have drifted apart",
                                                           tensors[first_of_all].name));
  });
}

}  // namespace slipway::runtime
