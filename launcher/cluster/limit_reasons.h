/// The reasons of Slurm that are limits of accounts and QOS: their names are composed, and are taken apart here. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "launcher/cluster/wait_reasons.h"

namespace slipway::launcher {

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

}  // namespace slipway::launcher
