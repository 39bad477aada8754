/* The smallest training program: joins the other ranks, sums a number over all of them, and says when that was done. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int one = 1;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&one, &size, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (rank == 0) printf("FoM: %d ended: %lld.%09ld\n", size, (long long)now.tv_sec, now.tv_nsec);
  MPI_Finalize();
  return 0;
}
