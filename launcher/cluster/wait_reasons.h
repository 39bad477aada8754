/// Why a Slurm job waits, or why it ended, in words for who submitted it. Pure.
///
/// Source: enum job_state_reason of slurm.h; the names are those that squeue shows.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace slipway::launcher {

struct ReasonInWords {
  std::string sentence;   ///< what holds the job up
  std::string next_step;  ///< what its owner can do; empty when it is only to wait
};

// The reasons of Slurm that are limits of accounts and QOS: their names are composed, and are taken apart here.

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

/// Nothing when the name is not composed so.
std::optional<LimitReason> LimitOf(std::string_view reason);
ReasonInWords Explain(const LimitReason& limit);

/// `reason` is Slurm's name ("Priority", "AssocGrpCpuLimit"). About 200 of them are limits whose names are composed
/// (whose limit, of what, per what); those are taken apart. A name that we do not know is shown as it is.
ReasonInWords ExplainReason(std::string_view reason);

}  // namespace slipway::launcher
