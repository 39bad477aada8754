/// When Slurm would start jobs that are not submitted, for `slipway plan`.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/json.h"
#include "core/words.h"
#include "launcher/cluster/batch_script.h"
#include "launcher/cluster/slurm_types.h"

namespace slipway::launcher {

struct SlurmClientOptions;

enum class StartOutlook {
  kEstimated,
  kDependent,  ///< it waits for other jobs, which take an unknown time
  kUnknown,    ///< Slurm does not say; the job may be fine
  kRefused     ///< a submission would fail
};
WordTable<StartOutlook> WordsOf(StartOutlook);

struct JobStart {
  StartOutlook outlook = StartOutlook::kUnknown;
  std::optional<SlurmTime> time = {};  ///< kEstimated
  std::string nodes = {};              ///< kEstimated: "n[1-2]"
  std::string partition = {};          ///< kEstimated, kDependent; empty: not known
  std::string reason = {};             ///< kUnknown, kRefused
  std::string next_step = {};          ///< kRefused
  int exit_code = 0;                   ///< kRefused: of the submission
};

/// One for each job, in their order. Each job is asked about as if it were the only one to be submitted, jobs of the
/// same size and terms once. A job with a dependency only to find a refusal. Trouble with Slurm makes the rest
/// kUnknown. Where no slurm.conf is found, Slurm is not asked. Cost: a request for the partitions and one for each kind
/// of job, about 10 ms each; five seconds at most, or `patience`.
std::vector<JobStart> EstimateStarts(const std::vector<BatchJob>& jobs);
std::vector<JobStart> EstimateStarts(const std::vector<BatchJob>& jobs, const SlurmClientOptions& slurm,
                                     std::chrono::milliseconds patience);

/// "now", "in 1h00m (2026-11-26 11:24 UTC)", "no estimate", "refused". Pure.
std::string WhenInWords(const JobStart& start, WallTime now);

/// `outlook`, `time` in UTC, `nodes`, `partition`, `reason`, `next_step`.
Json ToJson(const JobStart& start);

}  // namespace slipway::launcher
