#include "runtime/group/mpi_library.h"

#include <mpi.h>

#include <algorithm>
#include <cstdlib>

#include "runtime/group/communicator.h"
#include "runtime/status.h"

namespace slipway::runtime {
namespace {

bool StartedByMpiLauncher() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK", "PMIX_RANK"}) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

bool Ask(int (*question)(int*)) {
  int answer = 0;
  question(&answer);
  return answer != 0;
}

bool ended_by_failed_join = false;  // of this process; slipway_init and slipway_finalize are called by one thread

}  // namespace

std::string NameOfMpi() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string name(text, static_cast<std::size_t>(length));
  name.resize(std::min(name.find_first_of(",\n"), name.size()));
  for (auto& letter : name) letter = letter == '\t' ? ' ' : letter;
  return name;
}

MpiLibrary::MpiLibrary(const StartAlarm::Settings& alarm) {
  if (Ask(MPI_Finalized)) {
    throw RuntimeError(SLIPWAY_ERROR_STATE, ended_by_failed_join
                                                ? "an earlier slipway_init failed and has ended MPI: end the process"
                                                : "MPI has been finalized: a process can join a job only once");
  }
  in_use_ = Ask(MPI_Initialized);
  if (in_use_) {
    MPI_Query_thread(&thread_level_);
  } else if (StartedByMpiLauncher()) {
    // A lone process is left without MPI: it has no other ranks, and MPI's start would only cost time.
    const StartAlarm watched(alarm);
    CheckMpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &thread_level_), "MPI_Init_thread");
    in_use_ = started_here_ = true;
  }
}

MpiLibrary::~MpiLibrary() {
  if (!started_here_ || Ask(MPI_Finalized)) return;
  ended_by_failed_join = !joined_;
  MPI_Finalize();
}

}  // namespace slipway::runtime
