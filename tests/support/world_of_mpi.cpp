// Somebody else's MPI program, with nothing of Slipway in it: linked as a program, and as a module that Python loads.

#include <mpi.h>

#include <cstdio>

extern "C" int World() {
  int rank = 0;
  int size = 0;
  MPI_Init(nullptr, nullptr);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::printf("rank %d of %d\n", rank, size);
  MPI_Finalize();
  return 0;
}

#ifndef SLIPWAY_IS_MODULE
int main() { return World(); }
#endif
