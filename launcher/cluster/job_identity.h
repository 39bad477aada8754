/// Which job is meant, and whether one that Slurm shows is it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "launcher/cluster/slurm_types.h"

namespace slipway::launcher {

/// A number alone may be that of any job: each cluster counts from 1, and begins again when its state is lost. An empty
/// member is unknown, and fits every job.
struct JobIdentity {
  JobId id = 0;                             ///< 0: no job
  std::string cluster = {};                 ///< ClusterName of its slurm.conf
  std::string comment = {};                 ///< that it was submitted with
  std::string work_dir = {};                ///< where it starts, for sites that change comments
  std::optional<std::uint32_t> owner = {};  ///< the user who submitted it

  bool operator==(const JobIdentity&) const = default;
};

/// The same number of the same cluster, as far as that is known.
bool IsSameJob(const JobIdentity& left, const JobIdentity& right);

bool IsMeant(const JobIdentity& meant, const SlurmJob& job);

/// Why Slurm of `cluster` cannot tell anything about it; empty: it is one of its jobs.
std::string WhyElsewhere(const JobIdentity& meant, std::string_view cluster);

/// Errors: SlurmError(kOtherCluster).
void RequireCluster(const JobIdentity& meant, std::string_view cluster);

/// Errors: SlurmError(kOtherJob) naming the job that has this number.
void RequireMeant(const JobIdentity& meant, const SlurmJob& job);

}  // namespace slipway::launcher
