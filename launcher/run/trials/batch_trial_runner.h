/// Trials as Slurm jobs of their own, for a manager that is in none: the ensemble's port over Slurm's queue.
///
/// Such a job needs no manager outside: it stages, trains and writes its end down by itself. So one that is killed
/// loses nothing, and the next one finds the jobs by their numbers or comments and follows them.
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

/// Whether waiting may cure what went wrong with a submission: a limit, or a controller that does not answer. Pure.
bool MayBeTakenLater(SlurmTrouble trouble);

class BatchTrialRunner final : public ensemble::TrialRunner {
 public:
  explicit BatchTrialRunner(RunContext& context);
  /// The jobs go on.
  ~BatchTrialRunner() override;

  ProcessIdentity Prepare(const ensemble::TrialStart& start) override;
  /// Submits it, or lets it wait while the site takes no more jobs. Errors: SlurmError, Error(kUsage): no job of this
  /// run is taken.
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
    std::string stop = {};  ///< the reason, until Slurm has been told
  };
  using Jobs = std::vector<BatchTrial*>;

  void OnInterrupt();
  void Look();
  void SubmitWhatWaits();
  void StopWhatIsAsked();
  /// Those that are to be asked about now: all when that is due, else those that have written their end down.
  Jobs ToObserve(bool all) const;
  void Observe(const Jobs& jobs, bool all);
  void PlanNextPoll(const std::vector<ObservedRun>& observed, SteadyTime asked);
  void Tell(const std::vector<ObservedRun>& observed);
  /// More news may follow soon.
  void Changed();

  RunContext& context_;
  std::map<ensemble::TrialNumber, Job> jobs_;
  std::vector<ensemble::TrialEvent> events_;
  SteadyTime next_look_{};
  SteadyTime next_poll_{};
  SteadyTime last_change_{};
  int polls_failed_ = 0;
  SteadyTime next_submission_{};
  int submissions_refused_ = 0;  ///< in a row
};

}  // namespace slipway::launcher
