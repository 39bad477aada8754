// An MPI program whose rank 1 dies by itself after MPI_Init. Rank 0 needs four seconds to save after SIGTERM.

#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>

namespace {

constexpr unsigned kTimeToSave_s = 4;  // mpirun kills within two

void WaitForSignal(int number) {
  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, number);
  sigwait(&wanted, &number);
}

}  // namespace

int main(int argc, char** argv) {
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  sigprocmask(SIG_BLOCK, &blocked, nullptr);  // before the threads of MPI
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) ::_exit(4);
  WaitForSignal(SIGTERM);
  ::sleep(kTimeToSave_s);
  std::puts("saved");
  std::fflush(stdout);
  ::_exit(0);
}
