/// What MPI says about memory of GPUs.
#pragma once

#include <string>

namespace slipway::runtime {

/// Whose driver a GPU has.
enum class GpuMaker { kNvidia, kAmd };

struct MpiGpuSupport {
  bool takes = false;    ///< MPI's calls take pointers to memory of such a GPU
  std::string answered;  ///< by what: "MPIX_Query_cuda_support"; empty: nothing of this MPI answers that
};

/// For a process whose MPI has been started. One that says yes decides.
///
/// Source: Open MPI, mpi-ext.h; MPICH, MPIX_GPU_query_support and MPIX_Query_cuda_support; Cray MPICH, intro_mpi. No
///         MPI has all of these functions, so they are looked for in the process.
/// Limits: Open MPI 4 says how it was built, not what the transport in use can do.
MpiGpuSupport AskMpiForGpuSupport(GpuMaker maker);

}  // namespace slipway::runtime
