/// The records of trials and attempts: the rows of the trial book as values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/process.h"
#include "core/words.h"
#include "ensemble/model/scalar.h"
#include "ensemble/model/trial_runner.h"

namespace slipway::ensemble {

/// The life of a trial:
///
///   queued -> claimed -------------> running -> complete | pruned | failed | cancelled
///     ^          |                  ^   |
///     |          +-----> waiting ---+   |
///     |          |          |           |
///     |          +----------+-----------+--> queued again: interrupted, retried, or its manager was lost
///     +-- paused <----------------------+    (continued later from its checkpoint)
///
/// Waiting: its job is in the queue of a batch system. Its time counts from the job's begin.
/// Claimed and waiting trials may end before they run: failed, paused or cancelled.
/// Attempts have the same states and one more, `lost`. A lost attempt does not count: its manager or node was lost, it
/// could not be started, or the disk was full.
/// Stored in the trial book as words.
enum class TrialState {
  kQueued,
  kClaimed,
  kWaiting,
  kRunning,
  kPaused,
  kComplete,
  kPruned,
  kFailed,
  kLost,
  kCancelled
};
WordTable<TrialState> WordsOf(TrialState);

/// No further attempt follows unless a user requests it.
bool IsFinal(TrialState state);

/// The trial is over without a result: a user may request another attempt.
bool MayBeRetried(TrialState state);

/// Where the steps of reports come from.
enum class StepSource {
  kProgram,
  kCount  ///< reports are counted, over all attempts of the trial: a later one has a higher step, whatever it repeats
};

/// Stored as words.
enum class Goal { kMinimize, kMaximize };
WordTable<Goal> WordsOf(Goal);
/// Strictly better.
bool IsBetter(double left, double right, Goal goal);

/// Which reported value of a trial counts. Stored as words.
enum class CountedValue { kLast, kBest };
WordTable<CountedValue> WordsOf(CountedValue);

/// What trials are ranked by.
struct Objective {
  std::string metric;
  Goal goal = Goal::kMaximize;
  CountedValue counts = CountedValue::kLast;
  /// If set, the trial's value is the time to accuracy: the seconds, over all its attempts, until the metric is as good
  /// as this. Less is better.
  std::optional<double> reach = {};

  /// The goal for the trial's value. With `reach` it differs from the metric's goal.
  Goal ValueGoal() const { return reach ? Goal::kMinimize : goal; }
  /// What that value is: "accuracy", or "seconds to accuracy 0.75".
  std::string ValueName() const;
};

/// How an attempt ended. Stored as words. The state says what that means for the trial.
enum class Outcome {
  kNone,  ///< it has not ended
  kComplete,
  kFailed,       ///< an exit code other than 0
  kKilled,       ///< by a signal that Slipway did not send
  kOutOfMemory,  ///< the kernel or the batch system ended it
  kTimedOut,     ///< its own time limit
  kNodeLost,
  kManagerLost,
  kNotStarted,
  kNoObjective,  ///< it ended well but reported no usable value
  kCancelled,    ///< by the user, in the batch system, or at the end of the ensemble's time
  kPruned,
  kPaused,
  kDiskFull,  ///< the disk of the run was full while it ran or when it was started
};
WordTable<Outcome> WordsOf(Outcome);  ///< that of kNone is empty

/// Origins of trials that no sampler has chosen.
inline constexpr std::string_view kEnqueuedOrigin = "enqueued";
inline constexpr std::string_view kImportedOrigin = "import";
inline constexpr std::string_view kVariedOrigin = "pbt";

/// One trial; times are seconds since 1970, of its latest attempt.
struct TrialRecord {
  TrialNumber number = 0;
  TrialState state = TrialState::kQueued;
  Point parameters;
  std::string configuration;  ///< ConfigurationHash(parameters)
  /// Finite. The result of a complete trial; the last value, if any, of a pruned or paused one.
  std::optional<double> objective;
  std::vector<double> further = {};  ///< values of the further objectives, in their order; finite; of complete trials
  int repeat = 0;                    ///< which run of its configuration, from 0
  std::optional<TrialNumber> parent = {};  ///< it is a varied copy of this trial
  std::string origin = {};                 ///< who chose the parameters: Sampler::Origin, "enqueued", "pbt", "import"
  int attempts = 0;                        ///< begun so far
  int failures = 0;                        ///< failed attempts; `slipway trials retry` sets it to 0
  std::string reason;                      ///< why it is in this state; empty when complete
  double created = 0;
  std::optional<double> started;
  std::optional<double> ended;
};

/// Its next attempt is claimed: clears what the attempt before left in the row.
void BecomeClaimed(TrialRecord& trial);
/// Its job is in the queue of a batch system.
void BecomeWaiting(TrialRecord& trial);
/// Its program runs since `since`, in seconds since 1970.
void BecomeRunning(TrialRecord& trial, double since);

/// One attempt of a trial.
struct AttemptRecord {
  TrialNumber trial = 0;
  int number = 1;
  TrialState state = TrialState::kClaimed;
  std::optional<ProcessIdentity> process;  ///< nothing: no process was prepared
  std::string host;
  double claimed = 0;
  std::optional<double> started;
  std::optional<double> ended;
  std::optional<ExitStatus> status;
  std::optional<StopReason> stop;  ///< why the manager asks it to stop; stored before the request is sent
  std::string reason;              ///< how it ended, beside the outcome's word; before that, details of `stop`
  Outcome outcome = Outcome::kNone;
  std::optional<int> rank = {};  ///< the rank that failed first
  std::string missing = {};      ///< of kNoObjective: the metric without a value; empty: its value is not finite
  std::string place = {};        ///< nodes, cores and GPUs that it had for itself: "node1:0,1,8/gpu:0"
  int nodes = 1;                 ///< for the budget of node-seconds
};

/// A trial's arrival at a rung of the scheduler.
struct RungRecord {
  TrialNumber trial = 0;
  int bracket = 0;
  int rung = 0;
  double resource = 0;   ///< of the rung
  double value = 0;      ///< of the objective there; may be NaN or infinite
  std::string decision;  ///< "continue", "stop", "pause"
};

/// The answer to a request from outside.
struct RequestAnswer {
  bool accepted = false;  ///< it was carried out, at least in part
  std::string text;       ///< for people: "enqueued as trial 12"
};

/// The time that a study has used.
struct Usage {
  double wall_seconds = 0;  ///< of all managers together, without the times between them
  double node_seconds = 0;  ///< of ended attempts
};

/// The settings of a study: stored when it starts, compared with the spec when it is resumed.
struct StudyRecord {
  std::vector<Objective> objectives;  ///< at least one; the first ranks the trials, or all do by Pareto
  std::int64_t trials = 1;            ///< the budget: configurations
  int repeats = 1;                    ///< runs of each configuration; trial = configuration * repeats + repeat
  std::string scheduler = "none";
  std::string sampler;  ///< "auto" is stored as the sampler that it stands for
  std::uint64_t seed = 1;
  int grid_points = 3;
  std::string spec_hash;
  std::string space;  ///< JSON text
  double created = 0;
};

}  // namespace slipway::ensemble
