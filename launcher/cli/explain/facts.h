/// What is known of a run when somebody asks why it is as it is.
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

/// A rank whose program ended by itself.
struct RankEnd {
  int rank = 0;
  ExitStatus status;
};

/// The end of a log that tells most.
struct LogEnd {
  std::filesystem::path file;
  std::string lines;  ///< empty: there is none
};

/// Failed trials that ended alike.
struct FailureGroup {
  std::string what;                                ///< "failed: exit status 3"
  std::vector<ensemble::TrialNumber> trials;       ///< in their order, never empty
  std::string last_line;                           ///< of the log of the first of them; may be empty
  std::optional<UnmatchedPattern> unmatched = {};  ///< what the pattern missed in the log of the first of them
  std::string unreported = {};                     ///< the metric that they ended without; empty: they failed otherwise
  std::vector<UnreadMetrics> unread = {};          ///< what nobody could read in the first one's metrics; may be empty
};

/// A trial that failed, and of what.
struct TrialFailure {
  ensemble::TrialNumber trial = 0;
  std::string what;
  std::string alike = {};  ///< the same for failures of the same kind; empty: `what` is
};

struct RunFacts {
  RunState state;               ///< with what Slurm says about it
  std::optional<SlurmJob> job;  ///< as the controller remembers it
  std::string slurm_trouble;    ///< why Slurm could not be asked; empty: it could, or there was nothing to ask
  int ranks = 1;                ///< that were to start
  std::vector<RankEnd> ends;    ///< of the last attempt
  std::optional<int> culprit;   ///< the rank that failed first
  std::string watch;            ///< what the runtime's watch said, one line; empty: nothing
  LogEnd log;                   ///< of a run that failed or was lost
  std::string metrics_pattern;  ///< train.metrics; empty: the program reports by itself
  std::optional<UnmatchedPattern> unmatched;  ///< in the last attempt of a single run
  int restarts = 0;                           ///< attempts that began anew after a failure or at a time limit
  std::optional<std::uint64_t> checkpoint;    ///< step of the newest one; nothing: there is none, or it is not known
  bool goes_on_at_limit = false;              ///< checkpoint.on_time_limit: requeue
  std::vector<std::pair<std::string, int>> trials;  ///< state and how many; empty: no ensemble
  std::vector<FailureGroup> failures;               ///< the largest first
};

/// Each group in the words of its first trial. The largest groups first, of equal ones that with the first trial. Pure.
std::vector<FailureGroup> GroupFailures(const std::vector<TrialFailure>& failures);

}  // namespace slipway::launcher
