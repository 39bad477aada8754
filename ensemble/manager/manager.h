/// Runs an ensemble: asks the sampler, starts trials through the runner, writes to the book, until the budget is used.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/clock.h"
#include "ensemble/model/pause.h"
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
  int paused = 0;     ///< by the scheduler, and not continued since
  int cancelled = 0;  ///< their jobs were cancelled in the queue of the batch system, not by Slipway
  int waiting = 0;    ///< queued, or stopped before their end: a resume runs them
  /// By the first objective; with repeats the mean, under the number of the configuration's first trial.
  std::optional<TrialRecord> best;
  bool interrupted = false;        ///< the user asked to stop
  bool too_many_failures = false;  ///< ended by max_failures
  bool out_of_time = false;        ///< its budget of time or this run's time limit was used up
  bool out_of_nodes = false;       ///< trials are left to run, but the nodes that are left are too few or too small
  std::string same_failure;        ///< trials are left, but none begins: so many failed alike, in this way
  bool exhausted = false;          ///< the grid had fewer points than the budget
  std::int64_t not_begun = 0;      ///< configurations of the budget that have not begun
  std::int64_t begun = 0;          ///< configurations that have begun, without imported ones
  std::optional<Leader> leader;    ///< paused by the scheduler when the time was over
};

/// Receives events of the ensemble, after they are durable.
class EnsembleObserver {
 public:
  virtual ~EnsembleObserver() = default;
  /// The first call: the trials as the last manager left them.
  virtual void Opened(const TrialTable&) {}
  /// An attempt was handed to a queue; AttemptStarted follows when it runs.
  virtual void AttemptWaits(const TrialRecord&) {}
  virtual void AttemptStarted(const TrialRecord& trial) = 0;
  virtual void MetricReported(const MetricRecord& metric) = 0;
  /// `attempt`: how this attempt ended. `trial`: the trial's row now. `best`: the best complete trial, or null.
  virtual void AttemptEnded(const TrialRecord& trial, TrialState attempt, const TrialRecord* best) = 0;
  /// The whole ensemble does not run as its options say. Each warning comes once.
  virtual void Warned(const std::string& what) = 0;
  /// No trial begins, or nothing is written to the book, until the obstacle has gone; GoesOn follows.
  virtual void Paused(const Pause& /*pause*/) {}
  virtual void GoesOn() {}
};

/// Begins a study in an empty book, or goes on with the study in it.
///
/// Order of each round:
///   (1) One commit writes all metrics, results and claims of new attempts.
///   (2) The runner prepares the attempts: each process waits at its gate.
///   (3) One commit writes the identities of these processes.
///   (4) The gates open.
/// Supervised attempts skip step 3: the claim already names their supervisor. Their step 2 overlaps the commit of
/// step 1, because no process of theirs exists before step 4.
/// If the manager dies, the next one knows every process that may run and ends it. The trial runs again as its next
/// attempt, unless the runner knows that it had ended before.
///
/// Result: the same configurations for the same trial numbers, however often the ensemble was interrupted.
/// Errors: kUsage when the options contradict the book; what the runner's EndOrphan and Wait throw; the book's. A trial
///         that cannot be started is a failed trial, not an error. The manager waits while another process locks the
///         book or the disk is full. If the ensemble is to end meanwhile, it throws the book's error after 5 s.
EnsembleSummary RunEnsemble(TrialBook& book, const EnsembleOptions& options, TrialRunner& runner,
                            EnsembleObserver& observer, Clock& clock = SystemClock());

}  // namespace slipway::ensemble
