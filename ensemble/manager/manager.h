/// Runs an ensemble: asks the sampler, starts trials through the runner, tells the book, until the budget is used.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/clock.h"
#include "ensemble/model/records.h"
#include "ensemble/model/trial_runner.h"
#include "ensemble/schedulers/leader.h"
#include "ensemble/store/trial_book.h"
#include "ensemble/study/options.h"

namespace slipway::ensemble {

/// Counts of trials.
struct EnsembleSummary {
  int complete = 0;
  int failed = 0;
  int pruned = 0;
  int paused = 0;     ///< by the scheduler, and not among those that went on
  int cancelled = 0;  ///< taken from the queue of the batch system by somebody else
  int waiting = 0;    ///< begun or stopped, not over: a resume runs them
  /// By the first objective; with repeats the mean, under the number of the configuration's first trial.
  std::optional<TrialRecord> best;
  bool interrupted = false;        ///< the user asked to stop
  bool too_many_failures = false;  ///< ended by max_failures
  bool out_of_time = false;        ///< its budget or this run's time limit was used up
  bool out_of_nodes = false;       ///< trials are left to run, but the nodes that are left are too few or too small
  std::string same_failure;        ///< trials are left, but none begins: the first ones failed alike, in this way
  bool exhausted = false;          ///< the grid had fewer points than the budget
  std::int64_t not_begun = 0;      ///< configurations of the budget
  std::int64_t begun = 0;          ///< configurations, without imported ones
  std::optional<Leader> leader;    ///< the scheduler has paused it, and the time is over
};

/// Sees what happens, after it is durable.
class EnsembleObserver {
 public:
  virtual ~EnsembleObserver() = default;
  /// The first call: the trials as the last manager left them.
  virtual void Opened(const TrialTable&) {}
  /// It was handed to a queue; AttemptStarted tells when it runs.
  virtual void AttemptWaits(const TrialRecord&) {}
  virtual void AttemptStarted(const TrialRecord& trial) = 0;
  virtual void MetricReported(const MetricRecord& metric) = 0;
  /// `attempt` is how this attempt ended, `trial` what the trial is now; `best` the best complete trial or null.
  virtual void AttemptEnded(const TrialRecord& trial, TrialState attempt, const TrialRecord* best) = 0;
  /// Something of the whole ensemble is not as its options say; each is told once.
  virtual void Warned(const std::string& what) = 0;
  /// Nothing begins, or nothing is written down, until what is in the way has gone; GoesOn follows.
  virtual void Paused(const std::string& /*why*/) {}
  virtual void GoesOn() {}
};

/// Begins the study of an empty book, or continues the one that is in it.
///
/// Order of each round: (1) one commit with all metrics, results and claims of new attempts; (2) the attempts are
/// prepared at their gates; (3) one commit with their identities; (4) the gates open. Attempts that hang on a
/// supervisor of the runner, which (1) names, need no (3), and their (2) goes on while the disk is at work for (1):
/// nothing of them is there before (4). So whenever the manager dies, the next one knows every process that may run,
/// ends it, and runs the trial again as its next attempt, unless the runner can tell that it was over already.
///
/// Result: the same configurations for the same trial numbers, however often it was interrupted.
/// Errors: kUsage when the options contradict the book; what the runner's EndOrphan and Wait throw; the book's. A trial
///         that cannot be started is a failed trial, not an error. A book that another process has locked, and a disk
///         without room, are waited for; who asks to stop meanwhile gets the book's error.
EnsembleSummary RunEnsemble(TrialBook& book, const EnsembleOptions& options, TrialRunner& runner,
                            EnsembleObserver& observer, Clock& clock = SystemClock());

}  // namespace slipway::ensemble
