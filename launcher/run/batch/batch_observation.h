/// Observes runs whose manager lives in a batch job, with the help of the batch system.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "launcher/cluster/slurm_types.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// The present state of a run.
struct ObservedRun {
  RunState state;               ///< as stored, corrected by the state of its job
  std::optional<SlurmJob> job;  ///< as the controller remembers it
  std::string trouble;          ///< why the batch system did not answer; empty: it did, or was not asked
  JobId asked = 0;              ///< the job of the failed request; 0: none
};

/// The state to show to users: its reason says what is unknown about the job.
RunState Shown(ObservedRun observed);

/// Observes runs, in the order of `folders`. Without an answer of the controller a state stays as stored. A run that
/// has ended, while its job still copies results out of the burst buffer, is `running`. Results that did not arrive are
/// in its detail. Cost: that of ReadState for each, and one request to the controller for all runs of an owner in the
/// batch system. A run with a doubtful submission or a forgotten job costs a request of its own.
std::vector<ObservedRun> ObserveRuns(const std::vector<RunFolder>& folders);
/// Observes one run and returns the state to show.
RunState ObserveRun(const RunFolder& folder);

/// A run in a list: its state to show, or why that cannot be read.
struct RunRow {
  RunFolder folder;
  std::optional<Error> trouble;
  std::optional<RunState> state;
};

/// What lists show as the phase of a run whose state cannot be read.
inline constexpr std::string_view kUnreadable = "unreadable";
/// The phase in a word.
std::string_view PhaseWord(const RunRow& row);

/// Observes runs, in the order of `folders`. An unreadable one does not hinder the others. Cost: as ObserveRuns.
std::vector<RunRow> ObserveRows(const std::vector<RunFolder>& folders);

/// True when the run was submitted and has not ended, or its job may still be copying results out of its buffer.
bool IsInBatchSystem(const RunFolder& folder, const RunState& state);

}  // namespace slipway::launcher
