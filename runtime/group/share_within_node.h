/// One piece of memory for all ranks of a node.
#pragma once

#include <cstddef>

#include "runtime/group/point_to_point.h"
#include "runtime/memory/shared_memory.h"

namespace slipway::runtime {

/// New zeroed memory, made by the first member and mapped by all; empty on those where it failed. Collective over
/// `node`.
SharedMemory ShareWithinNode(PointToPoint& node, std::size_t bytes);

}  // namespace slipway::runtime
