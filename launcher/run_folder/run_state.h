/// What a run is doing, as `state.json` in its folder says it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/json.h"
#include "core/process.h"
#include "launcher/run_folder/end_cause.h"

namespace slipway::launcher {

/// Stored in state.json as words.
///
///   created -> staging -> running -> succeeded      (no data: no staging)
///       |         |          |----> failed
///       '---------+----------'----> cancelled
///   any of the first three without a living manager reads as `lost`; `resume` starts again at staging.
///   A run of a batch job is `queued` between created and staging, and again when its job goes back into the queue.
enum class Phase { kCreated, kQueued, kStaging, kRunning, kSucceeded, kFailed, kCancelled, kLost };

std::string_view PhaseName(Phase phase);
std::optional<Phase> ParsePhase(std::string_view name);
/// True for succeeded, failed, cancelled and lost.
bool HasEnded(Phase phase);
/// What `status`, `wait` and `run` exit with: 0 live or succeeded, 1 failed or lost, 130 cancelled.
int OutcomeExitCode(Phase phase);

struct RunState {
  std::string run;  ///< the id, which is the folder's name
  std::string name;
  Phase phase = Phase::kCreated;
  bool ensemble = false;
  int attempt = 0;
  std::string created;            ///< UTC, ISO 8601
  std::string started;            ///< of the last attempt; empty before
  std::string ended;              ///< empty while it lives
  std::optional<EndCause> cause;  ///< why it ended, or why its job is queued again; nothing while it goes on
  std::string reason;             ///< the same or what it does in words, one line; nothing is decided by it
  std::string detail;             ///< more lines, e.g. the end of a failed rank's log
  std::string host;
  std::uint32_t batch_job = 0;  ///< the batch job that its manager runs in; 0: none
  std::string batch_cluster;    ///< the cluster that the run was handed to, whose number that is; empty: not known
  ProcessIdentity manager;
  std::map<std::string, double> metrics;  ///< the last values of a single run that has ended; may be NaN or infinite
  ProcessIdentity job;  ///< the ranks' leader while they run, so that a later manager can end what is left
};

/// `phase` begins, and the manager's part is over: the cause, and the same in words.
void EndAs(RunState& state, Phase phase, EndCause ended);
/// Nothing is left of an earlier end.
void ForgetEnd(RunState& state);

/// Prepared for trials that come later: nobody manages it yet.
bool IsReady(const RunState& state);

Json ToJson(const RunState& state);
/// Errors: Error(kEnvironment) when the document is not a run state, or one of another version.
RunState RunStateFromJson(const Json& json);

}  // namespace slipway::launcher
