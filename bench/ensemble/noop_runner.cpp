#include "bench/ensemble/noop_runner.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace slipway::bench {

using ensemble::MetricRecord;
using ensemble::TrialEnded;
using ensemble::TrialEvent;
using ensemble::TrialNumber;

ProcessIdentity NoopRunner::Prepare(const ensemble::TrialStart& start) {
  Running running{start.attempt};
  for (const auto& [name, value] : start.parameters.items()) {
    if (value.is_number()) running.limit += std::pow(value.get<double>() - 0.3, 2);
  }
  if (const auto kept = checkpoints_.extract(start.trial)) running.reported = kept.mapped();
  running_.insert_or_assign(start.trial, running);
  return {start.trial + 1, 1, "none"};
}

/// Returns whether the trial is over.
bool NoopRunner::Report(TrialNumber trial, Running& running, std::vector<TrialEvent>& events) const {
  for (int i = 0; i < at_once_ && running.reported < reports_; ++i) {
    const int epoch = ++running.reported;
    events.push_back(MetricRecord{trial, running.attempt, "loss", epoch, epoch, running.limit + 1.0 / epoch});
  }
  return running.reported == reports_;
}

std::vector<TrialEvent> NoopRunner::Wait(std::chrono::nanoseconds) {
  std::vector<TrialEvent> events;
  for (auto entry = running_.begin(); entry != running_.end();) {
    auto& [trial, running] = *entry;
    const bool over = running.stopped || Report(trial, running, events);
    if (running.stopped) checkpoints_[trial] = running.reported;
    if (over) events.push_back(TrialEnded{trial, running.attempt, {}, ""});
    entry = over ? running_.erase(entry) : std::next(entry);
  }
  return events;
}

ensemble::EnsembleOptions TenParameters(std::int64_t trials, int parallel) {
  Json space = Json::object();
  for (int i = 0; i < 10; ++i) space["x" + std::to_string(i)] = {{"uniform", {0, 1}}};
  ensemble::EnsembleOptions options;
  options.objectives = {{"loss", ensemble::Goal::kMinimize}};
  options.trials = trials;
  options.parallel = parallel;
  options.sampler = "random";
  options.space = ensemble::ParseSpace(space);
  return options;
}

}  // namespace slipway::bench
