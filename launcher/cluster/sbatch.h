/// Submits jobs with sbatch, or asks it for their start: for options of plugins, and others that libslurm has no field
/// for.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string_view>

#include "core/environment.h"
#include "launcher/cluster/job_identity.h"
#include "launcher/cluster/slurm_types.h"

namespace slipway::launcher {

/// The job in the output of `sbatch --parsable`: its number, and its cluster if named ("12" or "12;cluster"). Sites may
/// print more before and after it: the last line of this form counts. Nothing when there is none. Pure.
std::optional<JobIdentity> SubmittedJobIn(std::string_view output);

/// What a job gets that is submitted from within another one: `environment` without that one's variables, such as
/// SLURM_ARRAY_JOB_ID, which would pass for its own. SLURM_CONF stays. Pure.
Environment WithoutOwnJob(Environment environment);

/// `environment` without variables such as SBATCH_PARTITION: they would override the lines of the script. Pure.
Environment WithoutOptionsOfSbatch(Environment environment);

/// Runs `sbatch --parsable SCRIPT`, without a shell. The job gets this process's environment, without its
/// `SLURM...` and `SBATCH_...` variables, but with SLURM_CONF and SLURM_JWT.
/// Errors: SlurmError. After kTimeout or kHelper the job may still have been submitted: search for its comment.
JobIdentity SubmitWithSbatch(const std::filesystem::path& script,
                             std::chrono::milliseconds deadline = std::chrono::seconds(40));

/// The estimate in what `sbatch --test-only` prints with SLURM_TIME_FORMAT=%s: "sbatch: Job 9 to start at 1795688662
/// using 2 processors on nodes n[1-2] in partition debug". The last line of this form counts. Pure.
std::optional<StartEstimate> EstimatedStartIn(std::string_view printed);

/// Runs `sbatch --test-only` on the text of a script, without a shell. Nothing is submitted.
/// Errors: SlurmError; kRefused with sbatch's words.
StartEstimate EstimateWithSbatch(const std::string& script, std::chrono::milliseconds deadline);

}  // namespace slipway::launcher
