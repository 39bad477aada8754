/// Submits with sbatch what only sbatch understands: options of plugins, and others that libslurm has no field for.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string_view>

#include "core/environment.h"
#include "launcher/cluster/job_identity.h"

namespace slipway::launcher {

/// The number, and the cluster if it is named, in what `sbatch --parsable` printed ("12" or "12;cluster"), whatever the
/// site says before and after it: that of the last line of this form. Nothing when there is none. Pure.
std::optional<JobIdentity> SubmittedJobIn(std::string_view output);

/// `environment` without the variables that would change what the script asks for: SBATCH_PARTITION counts more than a
/// line of the script. Pure.
Environment WithoutOptionsOfSbatch(const Environment& environment);

/// Runs `sbatch --parsable SCRIPT`, without a shell. The job gets this process's environment.
/// Errors: SlurmError. After kTimeout or kHelper the job may have been submitted all the same: look for its comment.
JobIdentity SubmitWithSbatch(const std::filesystem::path& script,
                             std::chrono::milliseconds deadline = std::chrono::seconds(40));

}  // namespace slipway::launcher
