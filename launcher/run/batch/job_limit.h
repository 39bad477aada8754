/// Whether a job that Slurm refuses for a limit is beyond it alone. Slurm gives one error number for that, and for a
/// limit that other jobs fill.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "launcher/cluster/batch_script.h"
#include "launcher/cluster/slurm_types.h"

namespace slipway::launcher {

/// Whether Slurm would take the job now: false when a limit forbids it. Submits nothing. May throw.
using WouldBeTaken = std::function<bool(const BatchJob&)>;

/// What of a refused job is more than one job may have, for people: "2 nodes with 16 cores, and a time limit of 2h00m".
/// Empty: other jobs may fill the limit, so that it passes.
///
/// Rule:   the smallest job with the same account, QOS, partition and number of tasks of an array is taken, before and
///         after this one is refused again. Then each part of the job's size is tried alone.
/// Cost:   one try where other jobs fill the limit, else up to seven; about 10 ms each.
/// Errors: those of `would_be_taken`.
std::string WhatIsTooMuch(const BatchJob& job, const WouldBeTaken& would_be_taken);

/// The largest array that the user may submit when nothing of theirs is in the queue; nothing: not certain. Pure.
///
/// Rule: the QOS of the job or of the partition may replace the limit of the association. So of all limits that may
/// hold the largest counts, if there is one for certain: that of the associations, or of the QOS that the job names.
std::optional<std::int64_t> MostTasks(const SubmitLimits& limits, const JobTerms& job);

}  // namespace slipway::launcher
