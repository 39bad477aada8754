/// Requests to Slurm and its answers, without Slurm's own headers.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/process.h"
#include "core/words.h"
#include "launcher/cluster/job_states.h"
#include "launcher/cluster/job_terms.h"

namespace slipway::launcher {

using JobId = std::uint32_t;
/// Seconds since 1970, as Slurm counts them.
using SlurmTime = std::chrono::sys_seconds;

/// A batch job to submit. An empty text or a 0 leaves the choice to Slurm. `#SBATCH` lines in the script have no effect
/// here: only sbatch reads them. The burst buffer's plugin reads `#DW`, `#BB` and `#BB_LUA` lines.
struct SubmitRequest : JobTerms {
  std::string script;                    ///< the text; begins with "#!"
  std::string script_path;               ///< its file, shown by scontrol; need not exist
  std::vector<std::string> environment;  ///< all of it, NAME=value
  std::string work_dir;
  std::string output;                  ///< of the script, both streams, appended to; %j is the job's number
  std::optional<std::uint32_t> user;   ///< the job's user; none: the caller. Only root may name others.
  std::optional<std::uint32_t> group;  ///< the same
  int tasks = 0;
  int tasks_per_node = 0;
  int cpus_per_task = 0;
  int threads_per_core = 0;   ///< counted as CPUs; 1: a CPU is a core
  std::string gpus_per_node;  ///< "2" or "a100:2"
  std::string gpus_per_task;
  std::optional<std::int64_t> memory_per_node_mib;  ///< 0: all that a node has; none: as the site has it
  std::int64_t memory_per_cpu_mib = 0;
  int time_limit_minutes = 0;
  std::string burst_buffer;
  std::string array;  ///< "0-99%8"
  std::string exclude_nodes;
  int warn_signal = 0;  ///< sent to the script `warn_seconds` before the time limit, give or take a minute
  int warn_seconds = 0;
  bool hold = false;

  bool operator==(const SubmitRequest&) const = default;
};

struct Submission {
  JobId job = 0;
  std::string message;  ///< the site's message to all who submit
  std::string warning;  ///< the job was accepted although ...

  bool operator==(const Submission&) const = default;
};

/// What the controller expects of a job that is not submitted.
struct StartEstimate {
  std::optional<SlurmTime> start;  ///< none: the job would wait, and Slurm has no time for it
  std::string nodes;               ///< "n[1-2]"
  std::string partition;           ///< of those that the job names, or the default one
  std::string held_by;             ///< Slurm's words for what it would wait for; without `start` only

  bool operator==(const StartEstimate&) const = default;
};

/// A job as the controller knows it.
struct SlurmJob {
  JobId id = 0;
  std::string cluster;      ///< the cluster of that number
  JobId array_job = 0;      ///< 0: not of an array
  std::string array_tasks;  ///< "3", or "5-99" for tasks not yet split off
  std::string name;
  std::uint32_t user = 0;
  std::string partition;
  std::string account;
  std::string qos;
  JobState state = JobState::kPending;
  std::vector<JobFlag> flags;
  std::string reason;       ///< see ExplainWait
  std::string reason_text;  ///< the words of the part of Slurm that stopped it
  int exit_code = 0;        ///< of the script; together with `signal` meaningless before the end
  int signal = 0;
  std::vector<std::string> nodes;
  std::string batch_host;
  int restarts = 0;
  std::int64_t priority = 0;   ///< 0: held
  int time_limit_minutes = 0;  ///< 0: unlimited
  std::optional<SlurmTime> submitted;
  std::optional<SlurmTime> start;  ///< expected as long as it waits; none: not known
  std::optional<SlurmTime> end;    ///< expected as long as it runs
  bool requeue = false;
  bool preempted = false;  ///< it runs, and is being preempted
  std::string comment;
  std::string system_comment;
  std::string admin_comment;
  std::string work_dir;
  std::string output;
  std::string dependency;
  std::string burst_buffer;
  std::string burst_buffer_state;

  JobPhase phase() const { return PhaseOf(state, flags); }
  bool IsHeld() const { return priority == 0; }
  ExitStatus status() const { return {exit_code, signal}; }
  /// Whether its node could not open the script's output. The script then never started, and slurmd reports this
  /// signal, although none was sent. Source: "0:53" in Slurm's job_exit_code.html.
  bool HadNoOutput() const { return state == JobState::kFailed && signal == 53; }
  bool operator==(const SlurmJob&) const = default;
};

/// How many jobs may be in the queue at once, waiting or running. Each task of an array counts.
struct SubmitLimit {
  std::string name;                  ///< of the account or QOS
  std::optional<std::int64_t> most;  ///< none: unlimited
  bool operator==(const SubmitLimit&) const = default;
};

/// For the calling user. Which of them hold for a job, the controller alone knows.
struct SubmitLimits {
  std::vector<SubmitLimit> accounts;  ///< one for each association of the user
  std::vector<SubmitLimit> qos;       ///< all; of a limit for each user and one for each account the larger
  bool operator==(const SubmitLimits&) const = default;
};

enum class PartitionState { kUp, kDown, kDrain, kInactive };
WordTable<PartitionState> WordsOf(PartitionState);

struct SlurmPartition {
  std::string name;
  bool is_default = false;
  PartitionState state = PartitionState::kUp;
  std::optional<int> max_time_minutes;      ///< none: unlimited
  std::optional<int> default_time_minutes;  ///< none: the longest
  std::optional<int> max_nodes;             ///< of one job; none: unlimited
  int min_nodes = 1;
  int total_nodes = 0;
  int total_cpus = 0;
  std::optional<int> max_cpus_per_node;
  std::string nodes;           ///< "n[1-4]"
  std::string allow_accounts;  ///< with commas; empty: all
  std::string deny_accounts;
  std::string allow_qos;
  std::string deny_qos;
  std::string allow_groups;
  bool needs_reservation = false;
  bool root_only = false;

  bool operator==(const SlurmPartition&) const = default;
};

struct SlurmNode {
  std::string name;
  std::string state;               ///< "IDLE", "DOWN", "MIXED", ...
  std::vector<std::string> flags;  ///< "DRAIN", "NOT_RESPONDING", ...
  std::string reason;              ///< why it is down or drained
  int cpus = 0;
  int cores = 0;  ///< fewer than CPUs where a core has several threads
  std::int64_t memory_mib = 0;
  std::string features;  ///< with commas
  std::string gres;      ///< "gpu:a100:4"
  std::string address;

  bool operator==(const SlurmNode&) const = default;
};

/// The cluster, from its controller.
struct SlurmCluster {
  std::string name;
  std::string controller_version;  ///< "22.05.8"
  std::string library_version;     ///< of the headers that our module was built with
  std::string burst_buffer;        ///< "burst_buffer/lua"; empty: none
  std::string scheduler_parameters;
  std::string accounting;  ///< "accounting_storage/slurmdbd"; empty: none
  std::string mpi_default;
  std::string preemption;  ///< "preempt/partition_prio"
  int min_job_age_s = 0;   ///< how long an ended job is remembered
  int message_timeout_s = 0;
  int kill_wait_s = 0;  ///< between SIGTERM and SIGKILL
  std::int64_t max_array_size = 0;
  std::int64_t max_jobs = 0;
  bool requeue_by_default = false;
  bool enforces_partition_limits = false;
  bool enforces_accounts = false;

  bool operator==(const SlurmCluster&) const = default;
};

/// Which processes of a job get a signal.
enum class SignalTarget { kScript, kSteps, kAll };
WordTable<SignalTarget> WordsOf(SignalTarget);

}  // namespace slipway::launcher
