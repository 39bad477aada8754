/// The exchange between an ensemble and a trial that is its own job: the order, and the job's answer.
///
/// The folder of such a trial is a run folder; the job manages it as a single run. The manager of the ensemble writes
/// trial_order.json there before the submission. The manager in the job writes trial_ending.json at the end.
#pragma once

#include <optional>
#include <string>

#include "ensemble/model/trial_runner.h"
#include "launcher/plan/training_command.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

struct TrialOrder {
  int attempt = 1;        ///< of the trial, as its ensemble counts: one job for each
  int attempts_past = 0;  ///< of the folder, before this job; a requeued job makes several attempts
  TrialTerms terms = {};
};

/// Nothing in a folder without such a trial. Errors: Error(kEnvironment) for a damaged file.
std::optional<TrialOrder> ReadTrialOrder(const RunFolder& trial);
void WriteTrialOrder(const RunFolder& trial, const TrialOrder& order);

/// Nothing where no job has recorded its end. `attempt` is that of the order; `trial` and `time` are not in the file.
std::optional<ensemble::TrialEnded> ReadTrialEnding(const RunFolder& trial);
void WriteTrialEnding(const RunFolder& trial, const ensemble::TrialEnded& ending);

/// Whether something outside the program ended the trial. Pure.
ensemble::OutsideCause OutsideCauseOf(JobState state);
ensemble::OutsideCause OutsideCauseOf(const EndCause& ended);

/// Records why the trial's program is to stop. Written before its job is signalled.
void WriteStopRequest(const RunFolder& trial, std::string_view reason);
void RemoveStopRequest(const RunFolder& trial);
/// The recorded reason. Empty: there is none, so the user asked for the end.
std::string ReadStopRequest(const RunFolder& trial);

}  // namespace slipway::launcher
