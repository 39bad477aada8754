/// Exchanges where every member deals with every other one directly.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/collectives/pieces.h"
#include "runtime/group/point_to_point.h"
#include "runtime/reduction/reduction.h"

namespace slipway::runtime {

/// Combines slice `rank` of all members' `data` in the order of the members into `result`; of a mean the quotient by
/// `quotient_by`.
/// Steps: P-1. Sent: N minus the own slice. Memory: P times the own slice.
void PairwiseReduceScatter(const void* data, void* result, std::span<const Slice> slices, const Reduction& reduction,
                           PointToPoint& members, int quotient_by);

/// Sends this member's slice to all, and receives theirs, in place. Steps: P-1. Sent: P-1 times the own slice.
void PairwiseAllgather(void* data, std::span<const Slice> slices, std::size_t element, PointToPoint& members);

/// Sends slice r of `out` to member r, which puts it at slice (sender) of its `in`. Steps: P-1.
void PairwiseAlltoall(const void* out, std::span<const Slice> out_slices, void* in, std::span<const Slice> in_slices,
                      std::size_t element, PointToPoint& members);

}  // namespace slipway::runtime
