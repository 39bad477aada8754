/// Why a Slurm job waits or ended, in words for its owner. Pure.
///
/// Source: enum job_state_reason of slurm.h; the names are those of squeue.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "launcher/cluster/slurm_types.h"

namespace slipway::launcher {

struct ReasonInWords {
  std::string sentence;   ///< what holds the job up
  std::string next_step;  ///< what its owner can do; empty: only wait
};

// Slurm's reasons for limits of accounts and QOS. Their names are composed of parts, which are parsed here.

enum class LimitOwner { kAssociation, kQos };
enum class LimitKind { kTotal, kMost, kLeast };
enum class LimitScope { kAll, kPerJob, kPerNode, kPerUser, kPerAccount };
enum class LimitTime { kAtOnce, kMinutes, kMinutesOfRunning };

/// "QOSMaxCpuMinutesPerJobLimit": the QOS has a limit of CPU minutes for each job.
struct LimitReason {
  LimitOwner owner = LimitOwner::kAssociation;
  LimitKind kind = LimitKind::kTotal;
  std::string_view resource;  ///< in words: "CPUs", "GPUs and other devices", "jobs"
  LimitTime time = LimitTime::kAtOnce;
  LimitScope scope = LimitScope::kAll;
};

/// Nothing when the name is not composed this way.
std::optional<LimitReason> LimitOf(std::string_view reason);
ReasonInWords Explain(const LimitReason& limit);

/// Why the job waits, with its number in the commands to give. `job.reason` is Slurm's name ("Priority",
/// "AssocGrpCpuLimit"). About 200 of them are limits with composed names (whose limit, of what, per what); LimitOf
/// parses those. An unknown name is shown as it is.
ReasonInWords ExplainWait(const SlurmJob& job);

/// "job 12_3 waits: its nodes are not free; wait (expected to start 2026-11-26T11:24:00.000Z)". `number`: as users know
/// the job. A held job has no start.
std::string DescribeWait(const SlurmJob& job, std::string_view number, const ReasonInWords& why);

/// Why a job does nothing that has begun: Slurm has suspended it, often for one of higher priority.
std::string DescribeSuspended(std::string_view number);

}  // namespace slipway::launcher
