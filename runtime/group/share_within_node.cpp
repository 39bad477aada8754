#include "runtime/group/share_within_node.h"

#include <functional>
#include <system_error>

namespace slipway::runtime {
namespace {

/// Nothing on failure: the ranks agree on what to do without it.
SharedMemory OrNothing(const std::function<SharedMemory()>& get) {
  try {
    return get();
  } catch (const std::system_error&) {
    return {};
  }
}

}  // namespace

SharedMemory ShareWithinNode(PointToPoint& node, std::size_t bytes) {
  SharedMemory memory;
  SharedMemoryAddress address;
  if (node.rank() == 0) {
    memory = OrNothing([&] { return SharedMemory::Create(bytes); });
    if (memory.data() != nullptr) address = memory.address();
  }
  node.Broadcast(0, &address, sizeof address);
  if (node.rank() != 0) memory = OrNothing([&] { return SharedMemory::Open(address); });
  // The maker may end, or its descriptor be used for something else, only when all have mapped it.
  node.Smallest({1});
  return memory;
}

}  // namespace slipway::runtime
