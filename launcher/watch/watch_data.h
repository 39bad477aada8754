/// What `slipway watch` has read: values only. Snapshots are never changed once they are made.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launcher/view/run_view.h"

namespace slipway::launcher::watch {

/// A run in the list of all runs.
struct RunLine {
  std::string id;
  std::filesystem::path folder;
  std::string state;  ///< the word of its phase, or kUnreadable
  bool ended = false;
  bool ensemble = false;
  int attempt = 0;
  std::optional<double> since;  ///< seconds since 1970: when it started, else when it was made
  std::optional<double> until;
  std::string reason;
  bool workflow = false;
};

/// A step of a workflow.
struct StepLine {
  std::string name;
  std::string kind;
  std::string state;              ///< the word of its state
  int rank = 0;                   ///< those that run first, then what failed, what is to come, what is done
  std::optional<double> since;    ///< of a step that runs: seconds since 1970
  std::optional<double> seconds;  ///< that it took
  std::string reason;
  std::filesystem::path run;  ///< of an experiment or ensemble that has begun in this run; else empty
};

/// The run of a workflow.
struct WorkflowGlance {
  std::string id;
  std::filesystem::path folder;
  std::string selector;  ///< names it in advised commands
  Phase phase = Phase::kCreated;
  std::string reason;
  std::optional<double> started;
  std::optional<double> ended;
  std::string counts;  ///< "3 done, 1 running of 4 steps"
  std::vector<StepLine> steps;
};

/// What the latest attempt says of a rank.
struct RankRow {
  int rank = 0;
  std::optional<double> last_output;  ///< when its log changed last; nothing: it has none
  std::string state;                  ///< "running", "exit status 1", or what the watch has found: "stopped"
  bool culprit = false;               ///< named by the watch
  bool straggler = false;             ///< the others wait for it
  std::string last_call;              ///< as the watch has found it
  std::optional<RankSteps> steps;     ///< from comm.json
};

/// The end of a rank's log.
struct LogTail {
  std::filesystem::path file;
  std::vector<std::string> lines;
  bool exists = false;
  bool cut = false;  ///< earlier lines are left out
};

/// A trial that is looked at.
struct TrialCurves {
  ensemble::TrialNumber trial = 0;
  std::vector<CurveView> curves;  ///< of all its attempts
};

/// A dataset of the plan, or the time limit: what the view of a run does not hold.
struct PlanGlance {
  std::vector<std::string> datasets;
  std::optional<double> time_limit_s;  ///< of an attempt, or of an ensemble
  std::optional<double> checkpoint_every_s;
};

struct WatchData {
  double read_at = 0;  ///< seconds since 1970
  std::vector<RunLine> runs;
  bool all_runs_read = true;

  std::shared_ptr<const WorkflowGlance> workflow;  ///< null: none is open, or it cannot be read

  std::shared_ptr<const RunView> run;  ///< the open one; null: none, or it cannot be read
  std::string selector;                ///< names it in advised commands
  std::string trouble;                 ///< why it cannot be read
  bool is_whole = true;                ///< false: parameters and places of ended trials follow
  PlanGlance plan;

  // Of an ensemble; rows count in the columns of run->trials.
  std::vector<std::pair<std::string, int>>
      states;                        ///< how many trials are in each state, in the order of a trial's life
  std::vector<std::size_t> running;  ///< begun and not ended, by place
  std::vector<std::size_t> leaders;  ///< by rank
  std::vector<std::pair<double, double>> best_so_far;           ///< time, value of the first objective
  std::map<ensemble::TrialNumber, std::vector<double>> sparks;  ///< of running trials: the objective as reported
  std::optional<TrialCurves> trial;

  // Of a single run.
  std::vector<RankRow> ranks;
  std::string finding;     ///< why the watch ended the ranks; empty: it did not
  std::string trace_line;  ///< the latest line of times in the log of rank 0

  LogTail log;
};

/// What the screen shows, and so what has to be read.
struct Interest {
  std::filesystem::path run;  ///< empty: only the list
  bool list = false;
  std::filesystem::path workflow = {};  ///< whose steps are listed; empty: none
  std::string step = {};                ///< whose log is shown; empty: none
  bool ranks = false;                   ///< when each rank wrote last
  std::optional<ensemble::TrialNumber> trial;
  bool log = false;  ///< of `trial`, or of the run, and `rank`
  int rank = 0;
  bool operator==(const Interest&) const = default;
};

}  // namespace slipway::launcher::watch
