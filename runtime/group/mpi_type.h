/// MPI's names for the types of elements.
#pragma once

#include <mpi.h>

#include "runtime/slipway.h"

namespace slipway::runtime {

/// MPI_DATATYPE_NULL for one that MPI has no type for.
inline MPI_Datatype MpiTypeOf(slipway_dtype dtype) {
  switch (dtype) {
    case SLIPWAY_FLOAT32: return MPI_FLOAT;
    case SLIPWAY_FLOAT64: return MPI_DOUBLE;
    case SLIPWAY_INT32: return MPI_INT32_T;
    case SLIPWAY_INT64: return MPI_INT64_T;
    default: return MPI_DATATYPE_NULL;
  }
}

}  // namespace slipway::runtime
