/// Runs an ensemble: asks the sampler, starts trials through the runner, tells the book, until the budget is used.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/clock.h"
#include "ensemble/records.h"
#include "ensemble/samplers/sampler.h"
#include "ensemble/space.h"
#include "ensemble/store/trial_book.h"
#include "ensemble/trial_runner.h"

namespace slipway::ensemble {

struct EnsembleOptions {
  std::string objective;  ///< name of the reported metric, of validation data
  Goal goal = Goal::kMaximize;
  std::int64_t trials = 1;       ///< the budget; a resumed ensemble may raise it
  int parallel = 1;              ///< attempts at a time
  std::string sampler = "auto";  ///< one of SamplerNames()
  std::uint64_t seed = 1;
  int grid_points = 3;              ///< of uniform and log ranges, for `grid`
  int retries = 0;                  ///< failures of one trial that are forgiven
  std::optional<int> max_failures;  ///< more failed trials end the ensemble; none: all may fail
  SearchSpace space;
  std::vector<Point> points;  ///< of the first trials; they may leave parameters out
  std::string spec_hash;
};

struct EnsembleSummary {
  int complete = 0;
  int failed = 0;
  int pruned = 0;
  int waiting = 0;  ///< begun or stopped, not over: a resume runs them
  std::optional<TrialRecord> best;
  bool interrupted = false;        ///< the user asked to stop
  bool too_many_failures = false;  ///< ended by max_failures
  bool exhausted = false;          ///< the grid had fewer points than the budget
};

/// Sees what happens, after it is durable.
class EnsembleObserver {
 public:
  virtual ~EnsembleObserver() = default;
  virtual void AttemptStarted(const TrialRecord& trial) = 0;
  virtual void MetricReported(const MetricRecord& metric) = 0;
  /// `attempt` is how this attempt ended, `trial` what the trial is now; `best` the best complete trial or null.
  virtual void AttemptEnded(const TrialRecord& trial, TrialState attempt, const TrialRecord* best) = 0;
};

/// Begins the study of an empty book, or continues the one that is in it.
///
/// Order of each round: (1) one commit with all metrics, results and claims of new attempts; (2) the attempts are
/// prepared at their gates; (3) one commit with their identities; (4) the gates open. So whenever the manager dies, the
/// next one knows every process that may run, ends it, and runs the trial again as its next attempt, unless the runner
/// can tell that it was over already. Result: the same configurations for the same trial numbers, however often it was
/// interrupted. Errors: kUsage when the options contradict the book; what the runner's EndOrphan and Wait throw; the
/// book's. A trial that cannot be started is a failed trial, not an error.
EnsembleSummary RunEnsemble(TrialBook& book, const EnsembleOptions& options, TrialRunner& runner,
                            EnsembleObserver& observer, Clock& clock = SystemClock());

}  // namespace slipway::ensemble
