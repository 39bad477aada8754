/// Whether a job that Slurm refuses for a limit is beyond it alone. Slurm gives one error number for that, and for a
/// limit that other jobs fill.
#pragma once

#include <functional>
#include <string>

#include "launcher/cluster/batch_script.h"

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

}  // namespace slipway::launcher
