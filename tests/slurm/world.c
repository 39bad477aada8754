/* Prints one line for each MPI rank, by rank 0: rank, size, host. */
#include <mpi.h>
#include <stdio.h>

enum { kNameLength = MPI_MAX_PROCESSOR_NAME };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  int length = 0;
  char name[kNameLength] = {0};
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Get_processor_name(name, &length);
  if (rank != 0) {
    MPI_Send(name, kNameLength, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
  } else {
    printf("0 %d %s\n", size, name);
    for (int other = 1; other < size; ++other) {
      MPI_Recv(name, kNameLength, MPI_CHAR, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      printf("%d %d %s\n", other, size, name);
    }
  }
  MPI_Finalize();
  return 0;
}
