/// Allreduce that gives the same bits on every rank, by construction.
#pragma once

#include <cstdint>

#include "runtime/group/communicator.h"

namespace slipway::runtime {

/// Bytes of one element; 0 for a value that is no dtype.
std::size_t SizeOf(slipway_dtype dtype);

/// Combines `count` elements over all ranks, in place.
///
/// Way:    reduce-scatter, so that each element is combined on exactly one rank, then allgather of the slices. MPI's
///         own allreduce may combine in a different order on each rank, and then the replicas drift apart.
/// Cost:   as Rabenseifner's allreduce: each rank sends 2(P-1)/P of the buffer's bytes. A scratch slice of 1/P.
/// Result: the same bits on all ranks. kMean: the sum times 1/P for floats; for integers the quotient, rounded to zero.
/// Errors: RuntimeError(SLIPWAY_ERROR_MPI).
void Allreduce(void* data, std::int64_t count, slipway_dtype dtype, slipway_op op, Communicator& communicator);

}  // namespace slipway::runtime
