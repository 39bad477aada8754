#include "ensemble/exchange/to_optuna.h"

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "ensemble/exchange/optuna_distribution.h"

namespace slipway::ensemble {
namespace {

std::string JsonText(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

OptunaState StateOf(TrialState state) {
  switch (state) {
    case TrialState::kQueued:
    case TrialState::kPaused: return OptunaState::kWaiting;
    case TrialState::kClaimed:
    case TrialState::kRunning: return OptunaState::kRunning;
    case TrialState::kComplete: return OptunaState::kComplete;
    case TrialState::kPruned: return OptunaState::kPruned;
    case TrialState::kFailed:
    case TrialState::kLost:
    case TrialState::kCancelled: break;
  }
  return OptunaState::kFail;
}

std::vector<OptunaParameter> ParametersOf(const TrialRecord& trial, const SearchSpace& space) {
  std::vector<OptunaParameter> parameters;
  for (const auto& [name, value] : trial.parameters) {
    const Parameter* parameter = FindParameter(space.parameters(), name);
    if (parameter == nullptr || !Contains(parameter->domain, value)) {
      throw Error(ErrorKind::kEnvironment,
                  "trial " + std::to_string(trial.number) + " has a value of '" + name + "' that its space has not",
                  "the trial book was changed by another program; restore it from a copy");
    }
    parameters.push_back({name, OptunaNumber(parameter->domain, value), OptunaDistribution(parameter->domain)});
  }
  return parameters;
}

std::vector<std::pair<std::int64_t, double>> ReportsOf(const std::vector<MetricRecord>& metrics,
                                                       const Objective& objective) {
  std::map<std::int64_t, const MetricRecord*> latest;
  for (const auto& metric : metrics) {
    if (objective.reach || metric.name != objective.metric) continue;
    auto& present = latest[metric.step];
    if (present == nullptr || present->attempt <= metric.attempt) present = &metric;
  }
  std::vector<std::pair<std::int64_t, double>> reports;
  for (const auto& [step, metric] : latest) reports.emplace_back(step, metric->value);
  return reports;
}

std::vector<double> ValuesOf(const TrialRecord& trial, OptunaState state, std::size_t objectives) {
  const bool has_value = state == OptunaState::kComplete || (state == OptunaState::kPruned && objectives == 1);
  if (!has_value || !trial.objective) return {};
  std::vector<double> values = {*trial.objective};
  values.insert(values.end(), trial.further.begin(), trial.further.end());
  return values;
}

OptunaAttributes AttributesOf(const TrialRecord& trial) {
  OptunaAttributes attributes = {{"slipway_trial", std::to_string(trial.number)},
                                 {"slipway_attempt", std::to_string(trial.attempts)},
                                 {"slipway_state", JsonText(TrialStateName(trial.state))}};
  if (!trial.reason.empty()) attributes.emplace_back("slipway_reason", JsonText(trial.reason));
  return attributes;
}

/// Optuna wants the times that a state implies; a trial that could not be started has none of its own.
void SetTimes(const TrialRecord& trial, OptunaTrial& optuna) {
  if (optuna.state == OptunaState::kWaiting) return;
  optuna.started = trial.started ? trial.started : trial.created;
  if (optuna.state != OptunaState::kRunning) optuna.ended = trial.ended ? trial.ended : optuna.started;
}

}  // namespace

OptunaStudy ToOptuna(const StudyRecord& study, std::string name) {
  OptunaStudy optuna{std::move(name), {}, {}, {}};
  Json metrics = Json::array();
  for (const auto& objective : study.objectives) {
    optuna.goals.push_back(objective.ValueGoal());
    metrics.push_back(objective.metric);
  }
  optuna.user_attributes = {{"slipway_sampler", JsonText(study.sampler)}, {"slipway_space", study.space}};
  optuna.system_attributes = {{"study:metric_names", JsonText(metrics)}};
  return optuna;
}

OptunaTrial ToOptuna(const TrialRecord& trial, const StudyRecord& study, const SearchSpace& space,
                     const std::vector<MetricRecord>& metrics) {
  OptunaTrial optuna;
  optuna.number = trial.number;
  optuna.state = StateOf(trial.state);
  optuna.user_attributes = AttributesOf(trial);
  SetTimes(trial, optuna);
  if (optuna.state == OptunaState::kWaiting) {
    optuna.system_attributes = {{"fixed_params", JsonText(ToJson(trial.parameters))}};
    return optuna;
  }
  optuna.parameters = ParametersOf(trial, space);
  optuna.reports = ReportsOf(metrics, study.objectives.front());
  optuna.values = ValuesOf(trial, optuna.state, study.objectives.size());
  return optuna;
}

}  // namespace slipway::ensemble
