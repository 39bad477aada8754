/// A TrialRunner without processes: each attempt reports so many values of "loss" and ends well.
#pragma once

#include <map>
#include <vector>

#include "ensemble/manager/manager.h"

namespace slipway::bench {

class NoopRunner : public ensemble::TrialRunner {
 public:
  /// Each Wait gives the next `at_once` reports of every running trial, at epochs 1, 2, ... The last ones come with the
  /// trial's end. A trial that is asked to stop ends with the next Wait.
  explicit NoopRunner(int reports = 1, int at_once = 1) : reports_(reports), at_once_(at_once) {}

  ProcessIdentity Prepare(const ensemble::TrialStart& start) override;
  void Release(ensemble::TrialNumber) override {}
  void Stop(ensemble::TrialNumber trial, ensemble::StopReason) override { running_.at(trial).stopped = true; }
  void EndOrphan(const ProcessIdentity&) override {}
  std::vector<ensemble::TrialEvent> Wait(std::chrono::nanoseconds) override;

 private:
  struct Running {
    int attempt = 1;
    double limit = 0;  ///< where its loss ends
    int reported = 0;
    bool stopped = false;
  };
  bool Report(ensemble::TrialNumber trial, Running& running, std::vector<ensemble::TrialEvent>& events) const;

  int reports_;
  int at_once_;
  std::map<ensemble::TrialNumber, Running> running_;
  std::map<ensemble::TrialNumber, int> checkpoints_;  // of trials that were stopped: their reports
};

/// Ignores all events.
class NoObserver : public ensemble::EnsembleObserver {
 public:
  void AttemptStarted(const ensemble::TrialRecord&) override {}
  void MetricReported(const ensemble::MetricRecord&) override {}
  void AttemptEnded(const ensemble::TrialRecord&, ensemble::TrialState, const ensemble::TrialRecord*) override {}
  void Warned(const std::string&) override {}
};

/// Minimises "loss" over ten ranges, x0 to x9 in [0, 1], with the random sampler.
ensemble::EnsembleOptions TenParameters(std::int64_t trials, int parallel);

}  // namespace slipway::bench
