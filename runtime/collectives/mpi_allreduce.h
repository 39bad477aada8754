/// The baseline: what MPI itself offers.
#pragma once

#include <cstdint>

#include "runtime/group/communicator.h"
#include "runtime/reduction/reduction.h"

namespace slipway::runtime {

/// False for 16-bit floats, which MPI does not know, and for the mean of integers.
bool MpiCanReduce(const Reduction& reduction);

/// MPI_Ireduce_scatter and MPI_Iallgatherv: each element is combined on exactly one rank, so all get the same bits.
/// MPI's own allreduce may combine in a different order on each rank, and then replicas drift apart. Minimum and
/// maximum of floats are ours: MPI's lose a NaN on one side, and the sign of a zero. Sent: what MPI's algorithms send.
/// Memory: a slice of 1/P. Errors: as all allreduces.
void AllreduceByMpi(void* data, std::int64_t count, const Reduction& reduction, Communicator& communicator);

}  // namespace slipway::runtime
