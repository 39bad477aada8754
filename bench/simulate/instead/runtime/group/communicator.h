/// What the algorithms need of a communicator, when their ranks are simulated: found in place of the runtime's header
/// of this name. There is no watch: a simulated rank does not die, and waiting costs the machine nothing.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/status.h"

namespace slipway::runtime {

inline void CheckMpi(int code, const char* what) {
  if (code != MPI_SUCCESS) throw RuntimeError(SLIPWAY_ERROR_MPI, std::string(what) + " failed in the simulation");
}

class Communicator {
 public:
  /// `job_ranks`: 0 to P-1, one list for all ranks, as P lists of P numbers would fill the memory.
  Communicator(MPI_Comm handle, const std::vector<int>& job_ranks) : handle_(handle), job_ranks_(job_ranks) {
    MPI_Comm_rank(handle_, &rank_);
  }

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(job_ranks_.size()); }
  MPI_Comm handle() const { return handle_; }
  const std::vector<int>& job_ranks() const { return job_ranks_; }

  void Complete(std::span<MPI_Request> requests, const std::function<std::vector<int>()>& /*missing*/) {
    CheckMpi(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), "a message");
  }

 private:
  MPI_Comm handle_;
  int rank_ = 0;
  const std::vector<int>& job_ranks_;
};

}  // namespace slipway::runtime
