/// What is known of trials and attempts: the rows of the trial book as values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/process.h"
#include "ensemble/scalar.h"
#include "ensemble/trial_runner.h"

namespace slipway::ensemble {

/// The life of a trial:
///
///   queued -> claimed -> running -> complete | pruned | failed | cancelled
///     ^          |          |
///     |          +----------+--> queued again: interrupted, retried, or its manager was lost
///     +-- paused <----------+    (continued later from its checkpoint)
///
/// An attempt knows the same states; `lost` (its manager died) is a final state of attempts.
/// Stored in the trial book as words.
enum class TrialState { kQueued, kClaimed, kRunning, kPaused, kComplete, kPruned, kFailed, kLost, kCancelled };

std::string_view TrialStateName(TrialState state);
std::optional<TrialState> ParseTrialState(std::string_view word);
/// Every state's word, in the order of the enum.
const std::vector<std::string>& TrialStateNames();
/// No attempt of such a trial will follow by itself.
bool IsFinal(TrialState state);

std::optional<StopReason> ParseStopReason(std::string_view word);

/// Stored as words.
enum class Goal { kMaximize, kMinimize };
std::string_view GoalName(Goal goal);
/// Strictly better.
bool IsBetter(double left, double right, Goal goal);

/// One trial; times are seconds since 1970, of its latest attempt.
struct TrialRecord {
  TrialNumber number = 0;
  TrialState state = TrialState::kQueued;
  Point parameters;
  std::string configuration;        ///< ConfigurationHash(parameters)
  std::string origin;               ///< Sampler::Origin of its ask; empty when the sampler has one method only
  std::optional<double> objective;  ///< finite; only of complete trials
  int attempts = 0;                 ///< begun so far
  int failures = 0;                 ///< attempts that failed by themselves
  std::string reason;               ///< why it is in this state; empty when complete
  double created = 0;
  std::optional<double> started;
  std::optional<double> ended;
};

/// One try of a trial.
struct AttemptRecord {
  TrialNumber trial = 0;
  int number = 1;
  TrialState state = TrialState::kClaimed;
  std::optional<ProcessIdentity> process;  ///< none: nothing was prepared
  std::string host;
  double claimed = 0;
  std::optional<double> started;
  std::optional<double> ended;
  std::optional<ExitStatus> status;
  std::optional<StopReason> stop;  ///< asked by the manager, stored before the trial is told
  std::string reason;
};

/// One reported value.
struct MetricRecord {
  TrialNumber trial = 0;
  int attempt = 1;
  std::string name;
  std::int64_t step = 0;
  std::optional<double> epoch;
  double value = 0;  ///< may be NaN or infinite
};

/// What an ensemble is: stored when it starts, held against the spec when it is resumed.
struct StudyRecord {
  std::string objective;  ///< name of the metric
  Goal goal = Goal::kMaximize;
  std::int64_t trials = 1;  ///< the budget
  std::string sampler;      ///< never "auto": the one it stands for
  std::uint64_t seed = 1;
  int grid_points = 3;
  std::string spec_hash;
  std::string space;  ///< JSON text
  double created = 0;
};

}  // namespace slipway::ensemble
