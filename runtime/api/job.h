/// The process's part in the job: made by slipway_init, gone after slipway_finalize.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/mllog.h"
#include "runtime/api/settings.h"
#include "runtime/checkpoint/checkpoints.h"
#include "runtime/device/workbench.h"
#include "runtime/exchange/allreduce_on_device.h"
#include "runtime/exchange/team.h"
#include "runtime/group/group.h"
#include "runtime/group/mpi_library.h"
#include "runtime/report/metrics_file.h"
#include "runtime/server/parameter_server.h"
#include "runtime/stop/stop_file.h"
#include "runtime/trace/call_trace.h"
#include "runtime/watch/watch.h"

namespace slipway::runtime {

class Job {
 public:
  /// `config`: JSON text, or null to read SLIPWAY_CONFIG. Collective.
  /// Errors: RuntimeError: malformed configuration or files, another version of this library on another rank, the same
  /// on all ranks; MPI.
  explicit Job(const char* config);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  /// False in a child made by fork(), where MPI must not be touched.
  bool InItsOwnProcess() const;
  /// After an error that leaves ranks at different calls: no rank waits for another from now on.
  void Abandon() { abandoned_ = true; }
  bool abandoned() const { return abandoned_; }
  /// Finishes what is in flight, frees parameter servers and writes comm.json. Returns the error when that file cannot
  /// be written; the job has been left even so. Collective.
  /// Errors: RuntimeError, the same on all ranks, when a step of a team was begun but not waited for; this rank is
  /// still in the job then. STATE: all ranks have begun that step. MISMATCH: only some have; the message names one.
  std::exception_ptr Leave();

  int rank() { return all().rank(); }
  Group& all() { return *all_; }
  Communicator& communicator() { return all().communicator(); }
  int local_rank() const { return local_rank_; }
  int local_size() const { return local_size_; }
  Watch& watch() { return watch_; }
  ProcessMemory& memory() { return memory_; }
  Workbenches& benches() { return benches_; }
  DeviceAllreduces& device_allreduces() { return device_allreduces_; }
  CallTrace& calls() { return calls_; }
  Checkpoints& checkpoints() { return *checkpoints_; }
  StopFile& stop_file() { return *stop_file_; }

  // Null but on rank 0, and where none is written.

  MetricsFile* metrics() { return metrics_.get(); }
  /// The run's MLPerf log, for the part that the program writes.
  MllogFile* run_log() { return run_log_.get(); }

  // Groups may be looked up by several threads, also while one is made.

  /// A group. Errors when no group has that number, or this rank is not in it.
  Group& GroupOf(int number);
  /// Null for a group that this rank is outside of, or that is not there.
  Group* FindGroup(int number);
  bool HasGroup(int number);
  int MakeGroup(std::span<const int> ranks);
  /// Collective over `ranks` alone. Errors: RuntimeError(STATE) when threads may not use MPI at the same time.
  int MakeGroupByMembers(std::span<const int> ranks, int tag);
  /// Whether MakeGroupByMembers gave this number.
  static bool IsByMembers(int number) { return number >= kFirstByMembers; }
  void FreeGroup(int number);

  Team& TeamOf(const std::string& name);
  bool HasTeam(const std::string& name) const { return teams_.contains(name); }
  void MakeTeam(TeamParts parts);
  void ForgetTeam(const std::string& name);
  /// Of all teams and of single allreduces: what is saved then was computed without an error of a GPU.
  /// Errors: those of Team::AwaitResult().
  void AwaitResults();

  ParameterServer& ServerOf(const std::string& name);
  bool HasServer(const std::string& name) const { return servers_.contains(name); }
  /// Errors: RuntimeError(STATE) when a thread of its own may not use MPI. Collective.
  void MakeServer(ServerParts parts);
  void FreeServer(const std::string& name);

  const TeamSettings& default_settings() const { return settings_.gradients; }

  void BeginInput();
  void EndInput();

 private:
  void Enter(const char* config);
  void Join();
  void JoinWatch();
  void RequireSameSettings();
  void RequireSameGpuExchange();
  void Configure(const char* config);
  SelectionSettings Selection(const Placement& placement) const;
  AlgorithmTable TableWith(std::string_view ways, const Placement& placement) const;
  bool WaysMatter(const Placement& placement) const;
  std::unique_ptr<Group> NewGroup(std::unique_ptr<Communicator> communicator);
  Waiter NewWaiter(bool crowded) { return Waiter(watch_, Waiter::Manner::kForeground, crowded); }
  std::unique_ptr<StepSums> NewSums(const TeamParts& parts);
  Json TotalsOf(Team& team);
  void NoteGpuMpiOfAllreduces();
  Json BitsOfJob();
  Json TotalsOfTeams(std::vector<Span>& spans);
  void WarnWithoutTrace(bool exchanged);
  void Report();
  void RequireNoStepInFlight();
  bool ThreadsMayCommunicate() const { return mpi_.in_use() && mpi_.thread_level() == MPI_THREAD_MULTIPLE; }

  pid_t process_;
  std::atomic<bool> abandoned_ = false;  // also set from threads that submit
  MpiLibrary mpi_;                       // outlives all that communicates
  Watch watch_{WatchSettings()};
  ProcessMemory memory_;
  Workbenches benches_{memory_.pool};
  DeviceAllreduces device_allreduces_{benches_};
  CallTrace calls_;
  JobSettings settings_;
  std::string ways_;  ///< of shared memory, in the syntax of AlgorithmTable; empty: not measured
  int local_rank_ = 0;
  int local_size_ = 1;
  static constexpr int kFirstByMembers = 1 << 20;  ///< the numbers of other groups are the same on all ranks

  std::mutex groups_mutex_;
  std::map<int, std::unique_ptr<Group>> groups_;  ///< null: this rank is outside
  Group* all_ = nullptr;
  int next_group_ = SLIPWAY_ALL + 1;
  int next_by_members_ = kFirstByMembers;
  std::unique_ptr<Checkpoints> checkpoints_;
  std::unique_ptr<StopFile> stop_file_;
  int teams_made_ = 0;                   ///< also those that are unregistered
  std::vector<std::string> past_teams_;  ///< entries of unregistered teams for comm.json: JSON
  std::vector<Span> past_spans_;
  bool bits_of_cpu_ = true;  ///< of all teams
  std::unique_ptr<MetricsFile> metrics_;
  std::unique_ptr<MllogFile> run_log_;
  std::map<std::string, std::unique_ptr<Team>> teams_;
  std::map<std::string, std::unique_ptr<ParameterServer>> servers_;
  std::optional<StepTrace::Clock::time_point> input_start_;
};

}  // namespace slipway::runtime
