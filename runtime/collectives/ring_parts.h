/// Both halves of a ring, along any sequence of members: of these the ring and the torus are made.
#pragma once

#include <span>
#include <vector>

#include "runtime/collectives/pieces.h"
#include "runtime/group/point_to_point.h"
#include "runtime/reduction/reduction.h"

namespace slipway::runtime {

/// Members in the order of the ring, and this one's place in it.
struct Ring {
  std::vector<int> members;
  int place = 0;

  int size() const { return static_cast<int>(members.size()); }
  int next() const { return members[static_cast<std::size_t>((place + 1) % size())]; }
  int previous() const { return members[static_cast<std::size_t>((place + size() - 1) % size())]; }
  /// Index of the slice `back` places behind this one.
  int Behind(int back) const { return ((place - back) % size() + size()) % size(); }
};

/// Leaves in slice `place` of the data, cut into ring.size() slices, the combination over the ring.
/// Steps: n-1 of a ring of n. Sent: N(n-1)/n.
void RingReduceScatter(char* data, std::span<const Slice> slices, const Reduction& reduction, const Ring& ring,
                       PointToPoint& members);

/// Spreads slice `place` of each member to all. Steps: n-1. Sent: N(n-1)/n.
void RingAllgather(char* data, std::span<const Slice> slices, std::size_t element, const Ring& ring,
                   PointToPoint& members);

}  // namespace slipway::runtime
