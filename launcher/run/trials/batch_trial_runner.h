/// Runs each trial as a Slurm job, for a manager outside of any job: the ensemble's port for Slurm's queue.
///
/// Such a job stages, trains and records its end without the ensemble's manager. So nothing is lost when that manager
/// is killed. The next one finds the jobs by number or comment and follows them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/clock.h"
#include "ensemble/model/trial_runner.h"
#include "launcher/cluster/slurm_trouble.h"
#include "launcher/run/context/run_context.h"
#include "launcher/run/trials/batch_trial.h"

namespace slipway::launcher {

/// Whether a failed submission may succeed later: a limit, a partition that is drained or inactive, or a controller
/// that does not answer. Pure.
bool MayBeTakenLater(SlurmTrouble trouble);

class BatchTrialRunner final : public ensemble::TrialRunner {
 public:
  explicit BatchTrialRunner(RunContext& context);
  /// The jobs continue.
  ~BatchTrialRunner() override;

  ProcessIdentity Prepare(const ensemble::TrialStart& start) override;
  /// Submits the trial, or queues it while the site takes no more jobs. Errors: SlurmError, Error(kUsage): Slurm takes
  /// no job of this run.
  void Release(ensemble::TrialNumber trial) override;
  bool Queues() const override { return true; }
  void Stop(ensemble::TrialNumber trial, ensemble::StopReason reason) override;
  void EndOrphan(const ProcessIdentity& identity) override;
  std::vector<ensemble::TrialEvent> Recover(ensemble::TrialNumber trial, int attempt) override;
  bool GoesOn(ensemble::TrialNumber trial, int attempt) override;
  std::string WhyNoDiskSpace(ensemble::DiskSpaceCheck check) override { return context_.WhyNoDiskSpace(check); }
  std::vector<ensemble::TrialEvent> Wait(std::chrono::nanoseconds limit) override;

 private:
  struct Job {
    std::unique_ptr<BatchTrial> trial;
    int attempt = 1;
    std::string stop = {};  ///< the reason, until the request reached Slurm
  };
  using Jobs = std::vector<BatchTrial*>;

  void OnInterrupt();
  void Look();
  void SubmitWhatWaits();
  void SayDoubts(const std::vector<std::string>& doubts);
  void StopWhatIsAsked();
  /// The jobs to observe now: all if that is due, else those that have recorded their end.
  Jobs ToObserve(bool all) const;
  void Observe(const Jobs& jobs, bool all);
  void PlanNextPoll(const std::vector<ObservedRun>& observed, SteadyTime asked);
  void Tell(const std::vector<ObservedRun>& observed);
  /// More changes may follow soon.
  void Changed();

  RunContext& context_;
  std::map<ensemble::TrialNumber, Job> jobs_;
  std::vector<ensemble::TrialEvent> events_;
  SteadyTime next_look_{};
  SteadyTime next_poll_{};
  SteadyTime last_change_{};
  int polls_failed_ = 0;
  SteadyTime next_submission_{};
  int submissions_refused_ = 0;    ///< in a row
  std::vector<std::string> said_;  ///< doubts about the last job
  bool has_warned_of_no_weights_ = false;
};

}  // namespace slipway::launcher
