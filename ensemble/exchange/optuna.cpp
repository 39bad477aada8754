#include "ensemble/exchange/optuna.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "core/error.h"
#include "core/json_text.h"
#include "core/text.h"
#include "ensemble/model/scalar.h"

namespace slipway::ensemble {

WordTable<OptunaState> WordsOf(OptunaState) {
  static constexpr Word<OptunaState> kWords[] = {{OptunaState::kRunning, "RUNNING"},
                                                 {OptunaState::kComplete, "COMPLETE"},
                                                 {OptunaState::kPruned, "PRUNED"},
                                                 {OptunaState::kFail, "FAIL"},
                                                 {OptunaState::kWaiting, "WAITING"}};
  return kWords;
}

namespace {

Json Distribution(const char* name, Json attributes) {
  return Json{{"name", name}, {"attributes", std::move(attributes)}};
}

Json Categorical(const std::vector<Scalar>& values) {
  Json choices = Json::array();
  for (const auto& value : values) choices.push_back(ToJson(value));
  return Distribution("CategoricalDistribution", Json{{"choices", std::move(choices)}});
}

Json LastValue(const Domain& domain) { return ToJson(ValueAt(domain, CountValues(domain) - 1)); }

struct ToDistribution {
  Json operator()(const UniformDomain& range) const {
    const bool stepped = range.step != 0;
    return Distribution("FloatDistribution", Json{{"step", stepped ? Json(range.step) : Json(nullptr)},
                                                  {"low", range.low},
                                                  {"high", stepped ? LastValue(range) : Json(range.high)},
                                                  {"log", false}});
  }
  Json operator()(const LogDomain& range) const {
    return Distribution("FloatDistribution",
                        Json{{"step", nullptr}, {"low", range.low}, {"high", range.high}, {"log", true}});
  }
  Json operator()(const IntDomain& range) const {
    return Distribution("IntDistribution",
                        Json{{"log", false}, {"step", range.step}, {"low", range.low}, {"high", LastValue(range)}});
  }
  Json operator()(const IntLogDomain& range) const {
    return Distribution("IntDistribution", Json{{"log", true}, {"step", 1}, {"low", range.low}, {"high", range.high}});
  }
  Json operator()(const ChoiceDomain& choice) const { return Categorical(choice.values); }
  Json operator()(const OrdinalDomain& ordinal) const { return Categorical(ordinal.values); }
  Json operator()(const FixedDomain& fixed) const { return Categorical({fixed.value}); }
};

std::optional<Scalar> ChoiceFrom(const Json& attributes, double number) {
  const auto choices = attributes.find("choices");
  if (choices == attributes.end() || !choices->is_array()) return std::nullopt;
  if (!(number >= 0) || number >= static_cast<double>(choices->size())) return std::nullopt;
  return ScalarFromJson((*choices)[static_cast<std::size_t>(number)]);
}

}  // namespace

std::string OptunaDistribution(const Domain& domain) { return JsonText(std::visit(ToDistribution{}, domain)); }

double OptunaNumber(const Domain& domain, const Scalar& value) {
  if (IsList(domain)) return static_cast<double>(IndexOf(domain, value).value());
  return NumberOf(value);
}

std::optional<Scalar> FromOptunaNumber(std::string_view distribution, double number) {
  const Json json = Json::parse(distribution, nullptr, false);
  if (!json.is_object() || !std::isfinite(number)) return std::nullopt;
  const Json name = json.value("name", Json());
  const Json attributes = json.value("attributes", Json());
  if (!attributes.is_object()) return std::nullopt;
  if (name == "FloatDistribution") return number;
  if (name == "IntDistribution") return IntegerOf(number);
  if (name == "CategoricalDistribution") return ChoiceFrom(attributes, number);
  return std::nullopt;
}

namespace {

OptunaState StateOf(TrialState state) {
  switch (state) {
    case TrialState::kQueued:
    case TrialState::kLost:
    case TrialState::kPaused: return OptunaState::kWaiting;
    case TrialState::kClaimed:
    case TrialState::kWaiting:
    case TrialState::kRunning: return OptunaState::kRunning;
    case TrialState::kComplete: return OptunaState::kComplete;
    case TrialState::kPruned: return OptunaState::kPruned;
    case TrialState::kFailed:
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
                                 {"slipway_state", JsonText(WordOf(trial.state))}};
  if (!trial.reason.empty()) attributes.emplace_back("slipway_reason", JsonText(trial.reason));
  return attributes;
}

/// Sets the times that Optuna requires for a state. A trial that could not be started has none of its own.
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

namespace {

/// Why a trial is left out. Without its values, so that like cases count together.
struct LeftOut {
  std::string why;
};

/// An untrusted text for messages: it could hold control sequences of a terminal.
std::string Shown(const std::string& text) { return Describe(Scalar{text}); }

std::string GoalsOf(const std::vector<Goal>& goals) {
  return JoinEach(goals, ", ", [](Goal goal) { return fmt::format("{}s", WordOf(goal)); });
}

void CheckObjectives(const OptunaStudy& study, const std::vector<Objective>& objectives) {
  std::vector<Goal> wanted;
  for (const auto& objective : objectives) wanted.push_back(objective.ValueGoal());
  if (study.goals == wanted) return;
  throw Error(ErrorKind::kUsage,
              fmt::format("the Optuna study {} {}, but the ensemble {}", Shown(study.name), GoalsOf(study.goals),
                          GoalsOf(wanted)),
              "import it into an ensemble with the same objectives");
}

using PointOr = std::variant<Point, LeftOut>;

/// The values that the user's program received, in any order.
PointOr GivenPoint(const OptunaTrial& trial, const SearchSpace& space) {
  Point point;
  for (const auto& [name, number, distribution] : trial.parameters) {
    const Parameter* parameter = FindParameter(space.parameters(), name);
    if (parameter == nullptr) return LeftOut{fmt::format("the space has no parameter {}", Shown(name))};
    auto value = FromOptunaNumber(distribution, number);
    if (!value) return LeftOut{fmt::format("the value of '{}' cannot be read", name)};
    auto canonical = Canonical(parameter->domain, *value);
    if (!canonical) return LeftOut{fmt::format("the value of '{}' lies outside of its domain", name)};
    point.emplace_back(name, std::move(*canonical));
  }
  return point;
}

/// Adds fixed parameters: Optuna studies rarely have parameters that never change.
PointOr Completed(Point point, const SearchSpace& space) {
  for (const auto& parameter : space.parameters()) {
    if (!IsActive(parameter, point) || Find(point, parameter.name) != nullptr) continue;
    const auto* fixed = std::get_if<FixedDomain>(&parameter.domain);
    if (fixed == nullptr) return LeftOut{fmt::format("it has no value for '{}'", parameter.name)};
    point.emplace_back(parameter.name, fixed->value);
  }
  return point;
}

PointOr MappedPoint(const OptunaTrial& trial, const SearchSpace& space) {
  auto given = GivenPoint(trial, space);
  if (!std::holds_alternative<Point>(given)) return given;
  auto complete = Completed(std::get<Point>(std::move(given)), space);
  if (!std::holds_alternative<Point>(complete)) return complete;
  try {
    return CheckedPoint(space, std::get<Point>(complete));
  } catch (const Error& error) {
    return LeftOut{error.message()};
  }
}

bool AllFinite(const std::vector<double>& values) {
  return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
}

/// Sets state and values. A complete trial of Optuna is complete here only if every objective has a finite value.
void SetResult(const OptunaTrial& trial, std::size_t objectives, ImportedTrial& imported) {
  const bool usable = trial.values.size() == objectives && AllFinite(trial.values);
  if (trial.state == OptunaState::kPruned) {
    imported.state = TrialState::kPruned;
    imported.reason = "pruned by Optuna";
    if (usable && objectives == 1) imported.objective = trial.values.front();
  } else if (trial.state == OptunaState::kComplete && usable) {
    imported.objective = trial.values.front();
    imported.further.assign(trial.values.begin() + 1, trial.values.end());
  } else {
    imported.state = TrialState::kFailed;
    imported.reason = trial.state == OptunaState::kFail ? "failed in Optuna" : "its value in Optuna is not finite";
  }
}

std::variant<ImportedTrial, LeftOut> Mapped(const OptunaTrial& trial, const SearchSpace& space,
                                            std::size_t objectives) {
  if (trial.state == OptunaState::kRunning || trial.state == OptunaState::kWaiting) return LeftOut{"it is not over"};
  auto point = MappedPoint(trial, space);
  if (const auto* left_out = std::get_if<LeftOut>(&point)) return *left_out;
  ImportedTrial imported;
  imported.number = trial.number;
  imported.parameters = std::get<Point>(std::move(point));
  imported.started = trial.started;
  imported.ended = trial.ended;
  SetResult(trial, objectives, imported);
  return imported;
}

}  // namespace

Imported FromOptuna(const OptunaStudy& study, const std::vector<OptunaTrial>& trials, const SearchSpace& space,
                    const std::vector<Objective>& objectives) {
  CheckObjectives(study, objectives);
  Imported imported;
  for (const auto& trial : trials) {
    auto mapped = Mapped(trial, space, objectives.size());
    if (const auto* left_out = std::get_if<LeftOut>(&mapped)) {
      ++imported.left_out[left_out->why];
    } else {
      imported.trials.push_back(std::get<ImportedTrial>(std::move(mapped)));
    }
  }
  return imported;
}

}  // namespace slipway::ensemble
