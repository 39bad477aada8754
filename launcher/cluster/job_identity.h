/// The identity of a Slurm job, and whether a job that Slurm shows has it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "launcher/cluster/slurm_types.h"

namespace slipway::launcher {

/// A job's number is not unique: each cluster counts from 1, and starts again when its state is lost. An empty member
/// is unknown, and matches every job.
struct JobIdentity {
  JobId id = 0;                             ///< 0: no job
  std::string cluster = {};                 ///< ClusterName of its slurm.conf
  std::string comment = {};                 ///< given at the submission
  std::string work_dir = {};                ///< where it starts; for sites that change comments
  std::optional<std::uint32_t> owner = {};  ///< the user who submitted it
  std::optional<std::uint32_t> task = {};   ///< of the job array `id`; none: a job, or the whole array

  bool operator==(const JobIdentity&) const = default;
};

/// As Slurm's commands take it: "12", "12_3".
std::string NumberOf(const JobIdentity& job);

/// Whether the task is among those of a record: "3", "0,5-99%8".
bool HasTask(std::string_view tasks, std::uint32_t task);

/// Whether both have the same number and, as far as known, the same cluster.
bool IsSameJob(const JobIdentity& left, const JobIdentity& right);

bool IsMeant(const JobIdentity& meant, const SlurmJob& job);

/// Why Slurm of `cluster` cannot know the job; empty: the job is one of its jobs.
std::string WhyElsewhere(const JobIdentity& meant, std::string_view cluster);

/// Errors: SlurmError(kOtherCluster).
void RequireCluster(const JobIdentity& meant, std::string_view cluster);

/// Errors: SlurmError(kOtherJob) naming the job that has this number.
void RequireMeant(const JobIdentity& meant, const SlurmJob& job);

}  // namespace slipway::launcher
