// A training program in which MPI has begun on all ranks, and then rank 2 does not come to slipway_init.

#include <mpi.h>
#include <unistd.h>

#include <cstdio>

#include "runtime/slipway.h"

int main(int argc, char** argv) {
  int level = 0;
  int rank = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  while (rank == 2) ::sleep(1);
  const int status = slipway_init(R"({"resilience": {"stall_after_s": 3}})");
  std::fprintf(stderr, "program: rank %d: error %d: %s\n", rank, status, slipway_error_message());
  ::_exit(100 + status);
}
