/// The state of a run, as stored in `state.json` in its folder.
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
/// any of the first three without an active manager reads as `lost`; `resume` starts again at staging.
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
  std::string ended;              ///< empty until it has ended
  std::optional<EndCause> cause;  ///< why it ended or was requeued; nothing while it runs
  std::string reason;             ///< the cause or the present activity in words, one line; no code decides by it
  std::string detail;             ///< more lines, e.g. the end of a failed rank's log
  std::string host;
  std::uint32_t batch_job = 0;                   ///< the batch job that its manager runs in; 0: none
  std::optional<std::uint32_t> batch_task = {};  ///< that job is an array: its task
  std::string batch_cluster;  ///< the cluster that the run was submitted to, which numbered the job; empty: unknown
  ProcessIdentity manager;
  std::map<std::string, double> metrics;  ///< the last values of a single run that has ended; may be NaN or infinite
  ProcessIdentity job;  ///< the ranks' leader while they run, so that a later manager can end what is left
};

/// Enters `phase`, the last one of this manager, with its cause and the words for it.
void EndAs(RunState& state, Phase phase, EndCause ended);
/// Removes all fields of an earlier end.
void ForgetEnd(RunState& state);

/// Whether it is prepared for later trials: it has no manager yet.
bool IsReady(const RunState& state);
/// The reason of such a run. `run`: how the advised commands name it.
std::string DescribeReady(std::string_view run);
/// Whether another manager, or another submission, has gone on with the run since `before` was read.
bool WasTakenUp(const RunState& before, const RunState& now);

Json ToJson(const RunState& state);
/// Errors: Error(kEnvironment) when the document is not a run state, or has another version.
RunState RunStateFromJson(const Json& json);

}  // namespace slipway::launcher
