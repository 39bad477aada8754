// Somebody else's MPI program, with nothing of Slipway in it: linked as a program, and as a module that Python loads.

#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

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
/// With an argument: this rank leaves without MPI_Finalize, while the others wait for it.
int main(int argc, char** argv) {
  if (argc == 1) return World();
  int rank = 0;
  MPI_Init(nullptr, nullptr);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == std::atoi(argv[1])) ::_exit(0);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
#endif
