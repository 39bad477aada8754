/// Broadcast and barrier by messages.
#pragma once

#include <cstddef>

#include "runtime/group/point_to_point.h"

namespace slipway::runtime {

/// Copies `bytes` bytes of member `root` to all.
/// - Up to kLargestTreeMessage: along a binomial tree, log2 P steps, rounded up.
/// - Above it: slices are scattered along the tree and gathered around the ring, and a barrier ends it. P-1 and log2 P
///   steps more; no member sends more than 2N. MPI moves large messages while both ends are in it: without the barrier
///   a member that returns and waits outside of MPI may hold the others up.
///
/// Source: Thakur, Rabenseifner, Gropp 2005, section 3.
inline constexpr std::size_t kLargestTreeMessage = 256 * 1024;
void Broadcast(void* data, std::size_t bytes, int root, PointToPoint& members);

/// Returns when all members have come. Steps: log2 P, rounded up; one byte each. Source: Hensgen, Finkel, Manber 1988.
void Barrier(PointToPoint& members);

}  // namespace slipway::runtime
