/// A trial that is a job of its own: what its ensemble wants of the job, and what the job answers.
///
/// The folder of such a trial is a run folder, managed by its job as a single run. trial_order.json in it is written by
/// the manager of the ensemble before it submits, trial_ending.json by the manager in the job when it is over.
#pragma once

#include <optional>
#include <string>

#include "core/process.h"
#include "ensemble/model/trial_runner.h"
#include "launcher/plan/training_command.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

struct TrialOrder {
  int attempt = 1;        ///< of the trial, as its ensemble counts: one job each
  int attempts_past = 0;  ///< of the folder, before that job: one that is queued again makes several
  TrialTerms terms = {};
};

struct TrialEnding {
  int attempt = 1;  ///< that of the order
  ExitStatus status;
  ensemble::OutsideCause cause = ensemble::OutsideCause::kNone;
  std::string detail;            ///< of a failure
  std::optional<int> rank = {};  ///< of the same: the one that failed first
  std::string last_line = {};    ///< of its log; may be empty
};

/// Nothing in a folder that is no such trial's. Errors: Error(kEnvironment) for a damaged one.
std::optional<TrialOrder> ReadTrialOrder(const RunFolder& trial);
void WriteTrialOrder(const RunFolder& trial, const TrialOrder& order);

/// Nothing where no job has had its last word.
std::optional<TrialEnding> ReadTrialEnding(const RunFolder& trial);
void WriteTrialEnding(const RunFolder& trial, const TrialEnding& ending);

/// What an end says of the trial that it is one of. Pure.
ensemble::OutsideCause OutsideCauseOf(JobState state);
ensemble::OutsideCause OutsideCauseOf(const EndCause& ended);

/// Why the trial's program is to stop. Written before its job is signalled.
void WriteStopRequest(const RunFolder& trial, std::string_view reason);
void RemoveStopRequest(const RunFolder& trial);
/// Empty: nobody has said so, and whoever asks for the end is the user.
std::string ReadStopRequest(const RunFolder& trial);

}  // namespace slipway::launcher
