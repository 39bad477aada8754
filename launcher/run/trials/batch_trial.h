/// One attempt of a trial as a Slurm job of its own: its submission, its reports and its end.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/clock.h"
#include "core/metrics_line.h"
#include "ensemble/model/trial_runner.h"
#include "launcher/cluster/job_states.h"
#include "launcher/plan/plan.h"
#include "launcher/ranks/monitor/line_follower.h"
#include "launcher/run/batch/batch_observation.h"
#include "launcher/run/batch/batch_run.h"
#include "launcher/run/trials/trial_order.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

class BatchTrial {
 public:
  using Events = std::vector<ensemble::TrialEvent>;

  /// Writes the files that the job of this attempt needs; does not submit it. Errors: what MakePlan throws,
  /// SystemError.
  BatchTrial(const RunFolder& run, const Plan& plan, const ensemble::TrialStart& start);
  BatchTrial(const BatchTrial&) = delete;
  BatchTrial& operator=(const BatchTrial&) = delete;

  /// The attempt of an earlier manager, found by its job's number or comment; null when it was never submitted.
  static std::unique_ptr<BatchTrial> Find(const RunFolder& run, ensemble::TrialNumber trial, int attempt);

  const RunFolder& folder() const { return folder_; }
  /// Whether it was to begin with a checkpoint of its parent, and there was none.
  bool lacks_weights() const { return lacks_weights_; }
  bool is_submitted() const { return !plan_; }
  /// Returns doubts of SubmittedRun. Errors: SlurmError, Error(kUsage).
  std::vector<std::string> Submit();

  /// Ends the job, or removes it from the queue; its program gets `reason`. Errors: SlurmError.
  void Stop(std::string_view reason, JobEnd how);

  /// Appends the metrics reported since the last call. Before the first it appends the attempt's begin, unless that was
  /// already reported.
  void TakeMetrics(Events& events);
  /// Appends its begin, and its end after all metrics before it.
  void Take(const ObservedRun& observed, Events& events);
  bool has_ended() const { return has_ended_; }

 private:
  BatchTrial(RunFolder folder, ensemble::TrialNumber trial, TrialOrder order);

  bool HasJob();
  void Keep(const MetricsLine& line);
  void NoteBegin(std::optional<WallTime> begin, Events& events);
  ensemble::TrialEnded EndOf(const ObservedRun& observed) const;

  RunFolder folder_;
  ensemble::TrialNumber trial_;
  TrialOrder order_;
  std::optional<Plan> plan_;  ///< until it is submitted
  bool lacks_weights_ = false;
  bool has_begun_ = false;
  bool has_ended_ = false;
  Events metrics_;                       ///< of the current call
  std::map<int, LineFollower> reports_;  ///< of the attempts of the folder
};

/// Ends the jobs of the trials of a run whose manager is gone. Returns their number. Errors: SlurmError.
int EndJobsOfTrials(const RunFolder& run);

}  // namespace slipway::launcher
