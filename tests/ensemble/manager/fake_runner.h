/// A TrialRunner without processes: each attempt reports and ends as a script says.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "core/error.h"
#include "ensemble/manager/manager.h"
#include "ensemble/model/trial_runner.h"

namespace slipway::ensemble {

/// What one attempt does after its release.
struct Script {
  std::vector<MetricRecord> metrics;  // trial and attempt are filled in
  ExitStatus status;
  std::string detail;
  OutsideCause cause = OutsideCause::kNone;
  std::string last_line = {};  // of its log
  bool can_start = true;
  bool runs_until_stopped = false;
  bool leaves_queue = true;  // false: it ends there
};

inline Script Reports(std::string name, double value) {
  Script script;
  script.metrics.push_back({0, 0, std::move(name), 1, std::nullopt, value});
  return script;
}

inline Script Exits(ExitStatus status, std::string detail = {}) {
  Script script;
  script.status = status;
  script.detail = std::move(detail);
  return script;
}

class FakeRunner : public TrialRunner {
 public:
  using Play = std::function<Script(TrialNumber, int attempt, const Json& parameters)>;
  explicit FakeRunner(Play play) : play_(std::move(play)) {}

  std::optional<ProcessIdentity> SupervisorIdentity(const std::vector<AllocatedNode>&) override { return supervisor_; }

  ProcessIdentity Prepare(const TrialStart& start) override {
    Script script = play_(start.trial, start.attempt, start.parameters);
    if (!script.can_start) throw Error(ErrorKind::kEnvironment, "no such program");
    prepared_[start.trial] = {start.attempt, std::move(script)};
    most_at_once_ = std::max(most_at_once_, prepared_.size());
    return supervisor_.value_or(ProcessIdentity{1000 + start.trial, 1, "boot"});
  }

  void Release(TrialNumber trial) override {
    released_.push_back(trial);
    if (!prepared_.at(trial).second.runs_until_stopped) ended_.push_back(trial);
  }

  void Stop(TrialNumber trial, StopReason reason) override {
    stopped_.emplace_back(trial, reason);
    if (prepared_.contains(trial) && prepared_.at(trial).second.runs_until_stopped) ended_.push_back(trial);
  }

  void EndOrphan(const ProcessIdentity& identity) override { orphans_.push_back(identity); }
  std::vector<TrialEvent> Recover(TrialNumber trial, int) override { return recovered_[trial]; }
  bool Queues() const override { return queues_; }
  std::string WhyNoDiskSpace(DiskSpaceCheck) override { return no_space_ ? no_space_() : ""; }
  bool GoesOn(TrialNumber trial, int attempt) override {
    if (!go_on_.contains(trial)) return false;
    prepared_[trial] = {attempt, go_on_.at(trial)};
    ended_.push_back(trial);
    return true;
  }

  std::vector<TrialEvent> Wait(std::chrono::nanoseconds) override {
    std::vector<TrialEvent> events;
    if (stop_after_ > 0 && released_.size() >= stop_after_) {
      stop_after_ = 0;
      events.push_back(StopAsked{});
      return events;
    }
    while (!ended_.empty()) {
      const bool from_front = !latest_first_;
      const TrialNumber trial = from_front ? ended_.front() : ended_.back();
      from_front ? ended_.pop_front() : ended_.pop_back();
      const auto [attempt, script] = std::move(prepared_.at(trial));
      prepared_.erase(trial);
      if (queues_ && script.leaves_queue) events.push_back(TrialBegan{trial, attempt, began_});
      for (auto metric : script.metrics) {
        metric.trial = trial;
        metric.attempt = attempt;
        events.push_back(metric);
      }
      events.push_back(
          TrialEnded{trial, attempt, script.status, script.detail, script.cause, {}, {}, script.last_line});
    }
    return events;
  }

  Play play_;
  std::optional<ProcessIdentity> supervisor_;  // that all attempts hang on
  std::function<std::string()> no_space_;      // why there is no room; null: there always is
  bool latest_first_ = false;
  std::size_t stop_after_ = 0;  // StopAsked once so many were released
  std::map<TrialNumber, std::vector<TrialEvent>> recovered_;
  std::map<TrialNumber, Script> go_on_;  // attempts of an earlier manager that need none
  bool queues_ = false;                  // what is released begins at `began_`
  double began_ = 0;
  std::map<TrialNumber, std::pair<int, Script>> prepared_;
  std::deque<TrialNumber> ended_;
  std::vector<TrialNumber> released_;
  std::vector<std::pair<TrialNumber, StopReason>> stopped_;
  std::vector<ProcessIdentity> orphans_;
  std::size_t most_at_once_ = 0;
};

/// Remembers how many attempts ended, and what was warned of.
class CountingObserver : public EnsembleObserver {
 public:
  void AttemptWaits(const TrialRecord&) override { ++waits; }
  void AttemptStarted(const TrialRecord&) override { ++started; }
  void MetricReported(const MetricRecord&) override { ++metrics; }
  void AttemptEnded(const TrialRecord&, TrialState, const TrialRecord* best) override {
    ++ended;
    if (best != nullptr) best_objective = best->objective;
  }
  void Warned(const std::string& what) override { warnings.push_back(what); }

  int waits = 0;
  int started = 0;
  int metrics = 0;
  int ended = 0;
  std::optional<double> best_objective;
  std::vector<std::string> warnings;
};

}  // namespace slipway::ensemble
