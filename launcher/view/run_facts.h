/// The facts of a run that `slipway explain` and the reports tell.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/process.h"
#include "ensemble/model/trial_runner.h"
#include "launcher/cluster/slurm_types.h"
#include "launcher/ranks/monitor/unmatched_pattern.h"
#include "launcher/run_folder/run_state.h"
#include "launcher/trials/unread_metrics.h"

namespace slipway::launcher {

class RunFolder;

/// A rank whose program ended by itself.
struct RankEnd {
  int rank = 0;
  ExitStatus status;
};

/// The end of the most informative log.
struct LogEnd {
  std::filesystem::path file;
  std::string lines;             ///< empty: there is none
  std::optional<int> rank = {};  ///< that wrote it; nothing: what starts the ranks, or the manager
};

/// Failed trials that ended alike.
struct FailureGroup {
  std::string what;                                ///< "failed: exit status 3"
  std::vector<ensemble::TrialNumber> trials;       ///< in their order, never empty
  std::string last_line;                           ///< of the log of the first of them; may be empty
  std::optional<UnmatchedPattern> unmatched = {};  ///< what the pattern missed in the log of the first of them
  std::string unreported = {};                     ///< the metric that they did not report; empty: another failure
  std::vector<UnreadMetrics> unread = {};          ///< unreadable metrics of the first one; may be empty
  std::filesystem::path log = {};                  ///< of the first of them: of the rank that failed first
  std::optional<int> rank = {};                    ///< that rank, if known
  std::string host = {};                           ///< of that trial
  bool has_folder = true;                          ///< that trial, in the run; one that ran outside has none
};

/// A failed trial and its cause.
struct TrialFailure {
  ensemble::TrialNumber trial = 0;
  std::string what;
  std::string alike = {};  ///< a key that is equal for failures of the same kind; empty: `what` is it
};

struct RunFacts {
  RunState state;               ///< corrected by the state of its job
  std::string selector;         ///< RunFolder::selector(): how a command that is advised names the run
  std::optional<SlurmJob> job;  ///< as the controller remembers it
  std::string slurm_trouble;    ///< why Slurm did not answer; empty: it did, or was not asked
  int ranks = 1;                ///< that were to start
  std::vector<RankEnd> ends;    ///< of the last attempt
  std::optional<int> culprit;   ///< the rank that failed first
  /// The rank that failed wrote nothing, or no rank did. Not known where the program's end is not.
  enum class Silent { kNone, kCulprit, kAll } silent = Silent::kNone;
  std::filesystem::path spec_file = {};             ///< the user's own; empty: it is gone
  bool works_beside_spec = false;                   ///< the working directory is the folder of the spec
  std::filesystem::path unfound = {};               ///< beside the spec, and missed by the program; empty: none
  std::filesystem::path slipway = {};               ///< the program that a job starts
  bool manager_began = true;                        ///< false: the job ended before
  bool may_have_checkpoint = false;                 ///< in a tier, where it is not looked for
  bool has_files = false;                           ///< that the program wrote into its own working directory
  std::vector<std::string> bare_flags = {};         ///< truth values of train.args, whose word was refused
  bool has_results = false;                         ///< of trials: HasResult
  std::string watch;                                ///< the message of the runtime's watch, one line; empty: none
  LogEnd log;                                       ///< of a run that failed or was lost
  std::string metrics_pattern;                      ///< train.metrics; empty: the program reports by itself
  std::optional<UnmatchedPattern> unmatched;        ///< in the last attempt of a single run
  int restarts = 0;                                 ///< attempts started after a failure or at a time limit
  std::optional<std::uint64_t> checkpoint;          ///< step of the newest one; nothing: none, or unknown
  bool goes_on_at_limit = false;                    ///< checkpoint.on_time_limit: requeue
  std::vector<std::pair<std::string, int>> trials;  ///< state and how many; empty: no ensemble
  bool trials_ended = false;           ///< all trials of the budget: none waits, is paused or has not begun
  std::string trials_trouble;          ///< why the trial book cannot be read; empty: it can, or is not there yet
  std::string trials_remedy;           ///< what to do about that
  std::vector<FailureGroup> failures;  ///< the largest first
};

/// Groups trials by cause; each group has the words of its first trial. Larger groups first, then by the first trial.
/// Pure.
std::vector<FailureGroup> GroupFailures(const std::vector<TrialFailure>& failures);

/// Reads the run folder, and asks the batch system about the run's job, even an ended one. Damaged parts and missing
/// answers are left out: an incomplete explanation is better than an error.
/// Cost: some small files, the ends of logs, and for a batch job one request to the controller. Each failed trial costs
/// a query. Each kind of failure costs the end of a log. If its trial lacks the objective, the whole log and the
/// metrics are read, too.
/// Errors: those of RunFolder::ReadState.
RunFacts GatherFacts(const RunFolder& folder);
/// The same from the folder alone: the batch system is not asked.
RunFacts GatherStoredFacts(const RunFolder& folder);

}  // namespace slipway::launcher
