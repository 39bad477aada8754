/// Why a run ended, as a value: the basis of decisions in the manager, `resume`, `status` and `explain`. Texts are made
/// from it where they are shown: end_reason.h for users, explain/ending.h for advice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/json.h"
#include "core/process.h"
#include "core/words.h"
#include "launcher/cluster/job_states.h"

namespace slipway::launcher {

/// How far a run was when its user cancelled it.
enum class CancelledWhile { kCreated, kSubmitting, kQueued, kStaging, kRunning };
WordTable<CancelledWhile> WordsOf(CancelledWhile);

/// One struct for each kind of end. `kKind` is its word in state.json; the fields are the members there.
namespace cause {

struct Completed {
  static constexpr std::string_view kKind = "completed";
  bool operator==(const Completed&) const = default;
};

struct Cancelled {
  static constexpr std::string_view kKind = "cancelled";
  CancelledWhile during = CancelledWhile::kRunning;
  bool operator==(const Cancelled&) const = default;
};

// ---- the ranks

/// The rank that failed first.
struct RankFailed {
  static constexpr std::string_view kKind = "rank_failed";
  int rank = 0;
  std::string host;
  ExitStatus status;
  bool operator==(const RankFailed&) const = default;
};

/// The rank ended with status 0 while others ran, and the MPI launcher then ended these.
struct RankLeft {
  static constexpr std::string_view kKind = "rank_left";
  int rank = 0;
  std::string host;
  bool operator==(const RankLeft&) const = default;
};

struct RankNotStarted {
  static constexpr std::string_view kKind = "rank_not_started";
  int rank = 0;
  std::string host;
  std::string program;
  int error = 0;                 ///< errno of the execution
  std::string interpreter = {};  ///< of the script, where it is what is missing
  bool operator==(const RankNotStarted&) const = default;
};

/// The shim of the rank was killed, so the end of its program is unknown.
struct RankLost {
  static constexpr std::string_view kKind = "rank_lost";
  int rank = 0;
  std::string host;
  bool operator==(const RankLost&) const = default;
};

/// The rank got SIGKILL while the kernel counted an OOM kill.
struct OutOfMemory {
  static constexpr std::string_view kKind = "out_of_memory";
  int rank = 0;
  std::string host;
  bool operator==(const OutOfMemory&) const = default;
};

/// The runtime's watch ended the ranks: see WatchReport for both fields.
struct Watched {
  static constexpr std::string_view kKind = "watched";
  std::string finding;
  std::string message;
  std::optional<int> rank;  ///< that ended first
  bool operator==(const Watched&) const = default;
};

/// The program kept asking for another turn without progress.
struct NoProgress {
  static constexpr std::string_view kKind = "no_progress";
  int rank = 0;
  std::string host;
  ExitStatus status;
  int turns = 0;
  bool operator==(const NoProgress&) const = default;
};

/// Not all ranks could be started, and none is to blame.
struct StartFailed {
  static constexpr std::string_view kKind = "start_failed";
  std::string message;
  bool operator==(const StartFailed&) const = default;
};

// ---- nodes, time, and what the batch system does

struct NodeLost {
  static constexpr std::string_view kKind = "node_lost";
  std::string message;      ///< names the node
  std::optional<int> rank;  ///< that was lost with it
  bool requeued = false;    ///< its job is queued again
  int requeues = 0;         ///< for lost nodes without progress, when that is why it is not queued again
  bool operator==(const NodeLost&) const = default;
};

/// The agents of some nodes of the job never connected.
struct NodesMissing {
  static constexpr std::string_view kKind = "nodes_missing";
  std::string message;
  bool requeued = false;
  int requeues = 0;  ///< as of NodeLost
  bool operator==(const NodesMissing&) const = default;
};

/// launch.time_limit, where no batch system enforces it.
struct TimeLimit {
  static constexpr std::string_view kKind = "time_limit";
  double seconds = 0;
  bool operator==(const TimeLimit&) const = default;
};

/// The time limit of its batch job.
struct JobTimeLimit {
  static constexpr std::string_view kKind = "job_time_limit";
  bool requeued = false;
  bool without_checkpoint = false;  ///< it was to continue, but there was no checkpoint
  bool before_start = false;        ///< no rank had begun: agents were awaited or data staged
  bool operator==(const JobTimeLimit&) const = default;
};

/// The batch system ended the job, or the job ended before its manager recorded an end.
struct JobEnded {
  static constexpr std::string_view kKind = "job_ended";
  std::uint32_t job = 0;
  JobState state = JobState::kFailed;
  ExitStatus status = {};  ///< of a job that has failed
  bool operator==(const JobEnded&) const = default;
};

/// The job's first node cannot open the file for its output.
struct JobWithoutOutput {
  static constexpr std::string_view kKind = "job_without_output";
  std::uint32_t job = 0;
  std::string host;
  std::string output;
  bool operator==(const JobWithoutOutput&) const = default;
};

/// The job was removed with scancel.
struct JobRemoved {
  static constexpr std::string_view kKind = "job_removed";
  std::uint32_t job = 0;
  bool operator==(const JobRemoved&) const = default;
};

/// The batch system itself requeued the job.
struct JobRequeued {
  static constexpr std::string_view kKind = "job_requeued";
  std::uint32_t job = 0;
  bool operator==(const JobRequeued&) const = default;
};

struct JobPreempted {
  static constexpr std::string_view kKind = "job_preempted";
  std::uint32_t job = 0;
  bool requeued = false;
  bool operator==(const JobPreempted&) const = default;
};

/// The batch system no longer knows the job.
struct JobForgotten {
  static constexpr std::string_view kKind = "job_forgotten";
  std::uint32_t job = 0;
  bool operator==(const JobForgotten&) const = default;
};

/// The batch system refused to requeue the job.
struct RequeueRefused {
  static constexpr std::string_view kKind = "requeue_refused";
  std::uint32_t job = 0;
  std::string message;
  bool operator==(const RequeueRefused&) const = default;
};

struct SubmissionRefused {
  static constexpr std::string_view kKind = "submission_refused";
  std::string message;
  bool operator==(const SubmissionRefused&) const = default;
};

/// The submitting process is gone, and the run has no job.
struct NotSubmitted {
  static constexpr std::string_view kKind = "not_submitted";
  std::string doubt;  ///< why the submission was in doubt; empty: it was not reached
  bool operator==(const NotSubmitted&) const = default;
};

// ---- the manager

struct ManagerLost {
  static constexpr std::string_view kKind = "manager_lost";
  std::int64_t pid = 0;
  std::string host;
  bool operator==(const ManagerLost&) const = default;
};

/// The folder is a copy: the manager in its state is alive and owns another one.
struct ManagerElsewhere {
  static constexpr std::string_view kKind = "manager_elsewhere";
  std::int64_t pid = 0;
  std::string folder;  ///< that the manager owns; empty: unknown
  bool operator==(const ManagerElsewhere&) const = default;
};

struct DiskFull {
  static constexpr std::string_view kKind = "disk_full";
  std::string message;
  bool operator==(const DiskFull&) const = default;
};

struct StagingFailed {
  static constexpr std::string_view kKind = "staging_failed";
  std::string message;
  bool operator==(const StagingFailed&) const = default;
};

/// Any other error that ended the manager.
struct ManagerFailed {
  static constexpr std::string_view kKind = "manager_failed";
  std::string message;
  bool operator==(const ManagerFailed&) const = default;
};

// ---- ensembles

struct TooManyFailures {
  static constexpr std::string_view kKind = "too_many_failures";
  int failed = 0;
  bool operator==(const TooManyFailures&) const = default;
};

struct NoTrialCompleted {
  static constexpr std::string_view kKind = "no_trial_completed";
  int failed = 0;
  int cancelled = 0;
  int pruned = 0;
  int paused = 0;
  bool operator==(const NoTrialCompleted&) const = default;
};

/// The first trials failed alike: ensemble.stop_on_same_failure.
struct SameFailure {
  static constexpr std::string_view kKind = "same_failure";
  std::string message;
  bool operator==(const SameFailure&) const = default;
};

/// Its time is used up before it was complete. Both false: by the time limit of this run.
struct OutOfTime {
  static constexpr std::string_view kKind = "out_of_time";
  bool budget_time = false;        ///< ensemble.budget.time is set
  bool budget_node_hours = false;  ///< ensemble.budget.node_hours is set
  bool operator==(const OutOfTime&) const = default;
};

/// No remaining node can satisfy the needs of a trial.
struct OutOfNodes {
  static constexpr std::string_view kKind = "out_of_nodes";
  int nodes = 1;
  int cores = 1;
  int gpus = 0;
  int waiting = 0;  ///< trials that a resume runs
  int paused = 0;
  std::int64_t not_begun = 0;
  bool requeued = false;
  int requeues = 0;  ///< as of NodeLost
  bool operator==(const OutOfNodes&) const = default;
};

/// `slipway trials serve` ended before its trials were over.
struct ServingEnded {
  static constexpr std::string_view kKind = "serving_ended";
  bool interrupted = false;  ///< it was asked to end; else the client left
  bool operator==(const ServingEnded&) const = default;
};

// ---- workflows

/// Steps have failed; those that need them did not run.
struct StepsFailed {
  static constexpr std::string_view kKind = "steps_failed";
  int failed = 0;
  std::string step;  ///< that failed first
  bool operator==(const StepsFailed&) const = default;
};

}  // namespace cause

using EndCause =
    std::variant<cause::Completed, cause::Cancelled, cause::RankFailed, cause::RankLeft, cause::RankNotStarted,
                 cause::RankLost, cause::OutOfMemory, cause::Watched, cause::NoProgress, cause::StartFailed,
                 cause::NodeLost, cause::NodesMissing, cause::TimeLimit, cause::JobTimeLimit, cause::JobEnded,
                 cause::JobWithoutOutput, cause::JobRemoved, cause::JobRequeued, cause::JobPreempted,
                 cause::JobForgotten, cause::RequeueRefused, cause::SubmissionRefused, cause::NotSubmitted,
                 cause::ManagerLost, cause::ManagerElsewhere, cause::DiskFull, cause::StagingFailed,
                 cause::ManagerFailed, cause::TooManyFailures, cause::NoTrialCompleted, cause::SameFailure,
                 cause::OutOfTime, cause::OutOfNodes, cause::ServingEnded, cause::StepsFailed>;

template <class Kind>
bool Is(const std::optional<EndCause>& ended) {
  return ended && std::holds_alternative<Kind>(*ended);
}

std::string_view KindOf(const EndCause& ended);
/// The rank that failed first, where the cause names one.
std::optional<int> RankOf(const EndCause& ended);

/// {"kind": "rank_failed", "rank": 1, ...}
Json ToJson(const EndCause& ended);
/// Errors: Error(kEnvironment) for a kind that this version does not know, naming it, and for a missing or wrong field.
EndCause EndCauseFromJson(const Json& json);

}  // namespace slipway::launcher
