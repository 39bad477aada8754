/// Decides what the end of an attempt means for its trial. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ensemble/model/records.h"

namespace slipway::ensemble {

struct AttemptFacts {
  std::optional<ExitStatus> status;  ///< nothing: unknown
  OutsideCause cause = OutsideCause::kNone;
  std::string detail;                        ///< the runner's message about a failure
  std::string last_line = {};                ///< of the log of the rank at fault; may be empty
  bool has_begun = true;                     ///< false: it still waited in its queue
  std::optional<StopReason> stop;            ///< why the manager asked it to stop; wins over the exit status
  std::string stop_detail = {};              ///< details of `stop`: the scheduler's reason, the time limit
  Objective objective;                       ///< the first of the study
  std::optional<double> value;               ///< of the objective
  std::optional<double> best_reported = {};  ///< best value of the metric; for an objective with `reach`
  std::vector<std::string> reported = {};    ///< names of the metrics that this attempt reported, sorted
  std::string further_missing = {};          ///< a further objective without a finite value; empty: none
  bool is_whole = false;                     ///< it has reported at the resource of a whole trial
  int failures = 0;                          ///< earlier attempts that failed
  int retries = 0;                           ///< how many failures are tried again
  int losses = 0;                            ///< earlier attempts that lost their node or ran on a full disk
  bool start_failed_before = false;          ///< the attempt before could not be started
  bool as_before = false;                    ///< the attempt before ended with the same exit status after the same step
  bool has_moved_on = false;  ///< it has reported a step or an epoch beyond those of all earlier attempts
  bool may_end = true;        ///< false: the scheduler has withdrawn its stop request, so the trial goes on
  bool may_wait = false;      ///< the scheduler lets trials wait at this resource
};

struct Verdict {
  TrialState attempt = TrialState::kComplete;
  TrialState trial = TrialState::kComplete;
  Outcome outcome = Outcome::kComplete;
  std::string reason;        ///< in words, in addition to the outcome's word
  std::string missing = {};  ///< of kNoObjective: the metric without a value; empty: its value is not finite
  bool operator==(const Verdict&) const = default;
};

/// The reason for texts that do not show the outcome: "out of memory: signal 9 (SIGKILL)".
std::string ReasonAlone(const Verdict& verdict);

/// Decides by these rules:
///   - Complete: status 0 and a finite value of every objective. A whole trial that ended by itself with status 0
///     counts as if it had not been asked to stop.
///   - Tried again while retries are left: a signal, or another exit status unless the attempt before ended with the
///     same one after the same step.
///   - Failed without a retry: out of memory; no usable value; the time limit of the trial or of its job; a job
///     cancelled from outside.
///   - A start that failed before the program ran is tried once more and is no failure. The second in a row is one.
///   - A lost node is no failure of the trial. The fifth is one.
///   - An attempt that ran on a full disk is repeated, whatever it reported. The fifth is judged as it ended.
///   - Stopped by the user or by the ensemble's time: queued, so a resume runs it.
///   - A program that asks to go on later and has moved on is paused if the scheduler lets trials wait, else queued.
///   - Pruned: status 0, but the objective's `reach` was not reached.
Verdict Judge(const AttemptFacts& facts);

/// "; it reported: epoch_time, loss", with at most eight names. Empty without names.
std::string ButReported(const std::vector<std::string>& names);

/// Whether a program has saved its state and asks to go on later: exit status 75.
bool AsksToGoOn(const std::optional<ExitStatus>& status);

/// The verdict on an attempt whose manager died: the trial is queued again, and no failure is counted.
Verdict JudgeLost();

}  // namespace slipway::ensemble
