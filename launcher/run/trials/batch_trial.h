/// One attempt of a trial as a Slurm job of its own: how it is submitted, what it reports, and how it ended.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/clock.h"
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

  /// Writes down what the job of this attempt needs; there is no job yet. Errors: what MakePlan throws, SystemError.
  BatchTrial(const RunFolder& run, const Plan& plan, const ensemble::TrialStart& start);
  BatchTrial(const BatchTrial&) = delete;
  BatchTrial& operator=(const BatchTrial&) = delete;

  /// That of an earlier manager, found by its number or its comment; null when it was never submitted.
  /// Errors: SlurmError.
  static std::unique_ptr<BatchTrial> Find(const RunFolder& run, ensemble::TrialNumber trial, int attempt);

  const RunFolder& folder() const { return folder_; }
  bool is_submitted() const { return !plan_; }
  /// Errors: SlurmError, Error(kUsage).
  void Submit();

  /// Ends the job, or takes it from the queue; its program is told `reason`. Errors: SlurmError.
  void Stop(std::string_view reason, JobEnd how);

  /// Appends what it has reported since the last look, and before that its begin if nobody has told of it.
  void TakeMetrics(Events& events);
  /// Appends its begin, and its end with all that it reported before.
  void Take(const ObservedRun& observed, Events& events);
  bool has_ended() const { return has_ended_; }

 private:
  BatchTrial(RunFolder folder, ensemble::TrialNumber trial, TrialOrder order);

  bool HasJob();
  void NoteBegin(std::optional<WallTime> begin, Events& events);
  ensemble::TrialEnded EndOf(const ObservedRun& observed) const;

  RunFolder folder_;
  ensemble::TrialNumber trial_;
  TrialOrder order_;
  std::optional<Plan> plan_;  ///< until it is submitted
  bool has_begun_ = false;
  bool has_ended_ = false;
  Events metrics_;                       ///< of the look that goes on
  std::map<int, LineFollower> reports_;  ///< of the attempts of the folder
};

/// Ends the jobs of the trials of a run whose manager is gone. Returns how many there were. Errors: SlurmError.
int EndJobsOfTrials(const RunFolder& run);

}  // namespace slipway::launcher
