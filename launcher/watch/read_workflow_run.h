/// The steps of a workflow's run, read again only when they have changed.
#pragma once

#include <memory>

#include "core/clock.h"
#include "launcher/run_folder/run_folder.h"
#include "launcher/view/file_stamp.h"
#include "launcher/watch/watch_data.h"

namespace slipway::launcher::watch {

class WorkflowReader {
 public:
  explicit WorkflowReader(RunsDirectory directory, Clock& clock = SystemClock())
      : directory_(std::move(directory)), clock_(clock) {}

  /// Reads what `interest` wants of a workflow into `data`: its steps, and the log of one. True when that has changed.
  /// Errors: those of RunFolder and of the documents of a workflow. Cost without changes: state.json, and
  /// a stat of each journal. Slurm's jobs and the runs of steps are looked at with each change, else every
  /// kAskSlurmEvery.
  bool Refresh(const Interest& interest, WatchData& data);

 private:
  bool ReadSteps(const std::filesystem::path& folder, WatchData& data);
  bool ReadStepLog(const Interest& interest, WatchData& data);

  RunsDirectory directory_;
  Clock& clock_;
  std::vector<FileStamp> stamps_;
  Phase phase_ = Phase::kCreated;  ///< as stored
  SteadyTime look_again_{};        ///< at the latest
  FileStamp log_stamp_;
};

}  // namespace slipway::launcher::watch
