/// What a manager gives to a single run or an ensemble, and their result.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/event_loop.h"
#include "core/interrupt.h"
#include "core/output.h"
#include "core/process.h"
#include "ensemble/model/trial_runner.h"
#include "launcher/cluster/job_identity.h"
#include "launcher/plan/plan.h"
#include "launcher/ranks/monitor/directory_watch.h"
#include "launcher/ranks/monitor/rank_log.h"
#include "launcher/ranks/monitor/watch_report.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

class Allocation;
class InstanceLog;
class LiveTensorboard;
class Notifier;
class PauseNote;
class StageOutQueue;
struct TrialOrder;

/// Records an event of the run. An event that cannot be written, as on a full disk, causes a warning; the run
/// continues.
void NoteEvent(const RunFolder& folder, Output& output, std::string_view event, const Json& more);

struct RunContext {
  const Plan& plan;
  const RunFolder& folder;
  const StagedDirectories& data;
  RunState& state;
  JobIdentity batch_job;  ///< the job of this run; no job: it runs in none of its own
  EventLoop& loop;
  DirectoryWatcher& files;
  Interrupt& interrupt;
  Output& output;
  LinePrefix prefix;
  StageOutQueue* stage_out_queue;  ///< null: checkpoints go straight into the run folder
  Allocation* allocation;          ///< null: the run has this machine only
  InstanceLog* log;                ///< of the run, or the part common to all trials; null: no log
  LiveTensorboard* tensorboard;    ///< null: no event files are written
  Notifier* notifier;              ///< null: there are no notifications
  PauseNote* pause;                ///< null: nothing shows that the run stands still
  const TrialOrder* trial;         ///< the ensemble's order for the trial that this run is; null: no trial

  /// Writes `state` durably, with an event of that name.
  std::function<void(std::string_view event)> commit;

  /// Prints what happens to `whom` at Ctrl-C or before the end of a batch job. It also prints how long that takes, and
  /// how to end it sooner.
  void SayWhatStops(std::string_view whom) const;

  /// Why the run folder has no free disk space, and the file system; empty: it has.
  std::string WhyNoDiskSpace(ensemble::DiskSpaceCheck check) const;

  /// As NoteEvent.
  void Note(std::string_view event, const Json& more) const;

  /// Records, and notifies of, the finding of the runtime's watch, with the members of `where`: the attempt or trial.
  void RecordWatch(const WatchFinding& finding, Json where) const;
};

/// How a run ended.
struct RunResult {
  Phase phase = Phase::kFailed;
  EndCause cause;
  std::string detail;
  bool progressed = false;                     ///< since the manager began; if not, repeating is pointless
  ExitStatus status = {1, 0};                  ///< of a single run: the ranks of its last attempt
  std::string last_line = {};                  ///< of a single run: the log's last line of the rank that failed first
  std::map<std::string, double> metrics = {};  ///< of a single run: the last value of each
  Json summary;                                ///< members for the document of `run`: metrics, or the best trials
  std::string summary_text;
};

}  // namespace slipway::launcher
