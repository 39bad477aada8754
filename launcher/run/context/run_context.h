/// What the two ways to carry out a run (single, ensemble) get from its manager, and what they answer.
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
#include "launcher/ranks/monitor/rank_line.h"
#include "launcher/ranks/monitor/watch_report.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

class Allocation;
class InstanceLog;
class StageOutQueue;
struct TrialOrder;

/// An event of the run. One that cannot be written, as on a full disk, is worth a warning, not the run.
void NoteEvent(const RunFolder& folder, Output& output, std::string_view event, const Json& more);

struct RunContext {
  const Plan& plan;
  const RunFolder& folder;
  const StagedDirectories& data;
  RunState& state;
  JobIdentity batch_job;  ///< that the run is carried out in; no job: in none of its own
  EventLoop& loop;
  DirectoryWatcher& files;
  Interrupt& interrupt;
  Output& output;
  LinePrefix prefix;
  StageOutQueue* stage_out_queue;  ///< null: checkpoints go straight into the run folder
  Allocation* allocation;          ///< null: the run has this machine only
  InstanceLog* log;                ///< of the run, or what is common to the logs of its trials; null: none is written
  const TrialOrder* trial;         ///< what the ensemble wants of the trial that this run is; null: it is none

  /// Writes `state` down, durably, with an event of that name.
  std::function<void(std::string_view event)> commit;

  /// At Ctrl-C, or the warning before the end of a batch job: what happens to `whom`, how long it takes, and how to
  /// have it sooner.
  void SayWhatStops(std::string_view whom) const;

  /// Why nothing can be written into the run folder for want of room, and where that is; empty: there is room.
  std::string WhyNoDiskSpace(ensemble::DiskSpaceCheck check) const;

  /// As NoteEvent.
  void Note(std::string_view event, const Json& more) const;

  /// Records what the runtime's watch left behind, with the members of `where` that say in which attempt or trial.
  void RecordWatch(const WatchFinding& finding, Json where) const;
};

/// How a run ended.
struct RunResult {
  Phase phase = Phase::kFailed;
  EndCause cause;
  std::string detail;
  bool progressed = true;                      ///< since the manager began; if not, going on would be without end
  ExitStatus status = {1, 0};                  ///< of a single run: the job of its last attempt
  std::string last_line = {};                  ///< of the same: of the log of the rank that failed first
  std::map<std::string, double> metrics = {};  ///< of a single run: the last value of each
  Json summary;                                ///< members for the document of `run`: metrics, or the best trials
  std::string summary_text;
};

}  // namespace slipway::launcher
