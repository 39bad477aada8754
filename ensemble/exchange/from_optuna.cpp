#include "ensemble/exchange/from_optuna.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <variant>

#include "core/error.h"
#include "ensemble/exchange/optuna_distribution.h"

namespace slipway::ensemble {
namespace {

/// Why a trial is left out. Without its values, so that like cases are counted together.
struct LeftOut {
  std::string why;
};

/// A text from elsewhere, for messages: it could hold anything that a terminal would obey.
std::string Shown(const std::string& text) { return Describe(Scalar{text}); }

std::string GoalsOf(const std::vector<Goal>& goals) {
  std::string text;
  for (const Goal goal : goals) text += fmt::format("{}{}s", text.empty() ? "" : ", ", GoalName(goal));
  return text;
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

/// The values as the user's program got them, in any order.
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

/// Adds fixed parameters: what never changes is rarely a parameter in Optuna.
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

/// What Optuna calls complete is complete here when every objective has a finite value.
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
