/// The process's part in the job: made by slipway_init, gone after slipway_finalize.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>

#include "runtime/checkpoint/checkpoints.h"
#include "runtime/exchange/team.h"
#include "runtime/group/communicator.h"
#include "runtime/group/mpi_library.h"
#include "runtime/report/metrics_file.h"
#include "runtime/stop/stop_file.h"

namespace slipway::runtime {

class Job {
 public:
  /// `config`: JSON text, or null to read SLIPWAY_CONFIG.
  /// Errors: RuntimeError: malformed configuration or files, the same on all ranks; MPI.
  explicit Job(const char* config);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  /// False in a child made by fork(), where MPI must not be touched.
  bool InItsOwnProcess() const;

  Communicator& communicator() { return *communicator_; }
  Checkpoints& checkpoints() { return *checkpoints_; }
  StopFile& stop_file() { return *stop_file_; }
  MetricsFile* metrics() { return metrics_.get(); }  ///< null but on rank 0
  std::map<std::string, Team>& teams() { return teams_; }

 private:
  void Join();
  void Configure(const char* config);

  pid_t process_;
  MpiLibrary mpi_;  // outlives all that communicates
  std::unique_ptr<Communicator> communicator_;
  std::unique_ptr<Checkpoints> checkpoints_;
  std::unique_ptr<StopFile> stop_file_;
  std::unique_ptr<MetricsFile> metrics_;
  std::map<std::string, Team> teams_;
};

}  // namespace slipway::runtime
