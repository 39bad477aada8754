/// MPI's life in this process: used as the program has started it, else started and ended here.
#pragma once

#include <string>

#include "runtime/watch/start_alarm.h"

namespace slipway::runtime {

/// "Open MPI v4.1.4", "MPICH Version: 4.0.2".
std::string NameOfMpi();

class MpiLibrary {
 public:
  /// Starts MPI unless the program did, or unless no launcher of MPI programs started this process. `alarm`: for when
  /// that takes too long.
  /// Errors: RuntimeError: STATE when MPI has been finalized, which it survives only once, and saying whether a join
  /// that failed has done it; MPI.
  explicit MpiLibrary(const StartAlarm::Settings& alarm);
  MpiLibrary(const MpiLibrary&) = delete;
  MpiLibrary& operator=(const MpiLibrary&) = delete;
  /// Ends MPI if the constructor started it.
  ~MpiLibrary();

  /// From here on the end of MPI is that of a job, not of a join that failed.
  void NoteJoined() { joined_ = true; }
  /// Leaves MPI as it is, to the end of the process.
  void Abandon() { started_here_ = false; }

  bool in_use() const { return in_use_; }
  /// MPI_THREAD_*: what MPI gives, which may be less than MPI_THREAD_MULTIPLE.
  int thread_level() const { return thread_level_; }

 private:
  bool in_use_ = false;
  bool started_here_ = false;
  bool joined_ = false;
  int thread_level_ = 0;
};

}  // namespace slipway::runtime
