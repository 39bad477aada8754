#include "ensemble/space/space.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/nearest_word.h"
#include "ensemble/space/suggest_value.h"

namespace slipway::ensemble {
namespace {

std::vector<std::string> OtherNames(const std::vector<Parameter>& parameters, std::string_view name) {
  auto names = NamesOf(parameters);
  std::erase(names, name);
  return names;
}

/// Turns the values of the clause into values of the parameter that it names.
void SettleClause(const Parameter& parameter, Condition::Clause& clause, const std::vector<Parameter>& all) {
  const Parameter* other = FindParameter(all, clause.parameter);
  if (other == nullptr) {
    throw ParameterError(parameter.name, fmt::format("'when' names '{}', which is no parameter{}", clause.parameter,
                                                     SuggestWord(clause.parameter, OtherNames(all, parameter.name))));
  }
  if (IsContinuous(other->domain)) {
    throw ParameterError(
        parameter.name,
        fmt::format("'when' cannot depend on '{}', which is '{}'", other->name, DomainName(other->domain)),
        "conditions work on parameters with single values: 'choice', 'ordinal', 'int', fixed ones, and steps");
  }
  for (auto& value : clause.values) {
    auto canonical = Canonical(other->domain, value);
    if (!canonical) {
      throw ParameterError(parameter.name,
                           fmt::format("'when' waits for {} = {}, a value that '{}' never has{}", other->name,
                                       Describe(value), other->name, SuggestValue(other->domain, value)));
    }
    value = std::move(*canonical);
  }
}

void SettleTogether(std::vector<Parameter>& parameters) {
  for (auto& parameter : parameters) {
    if (FindParameter(parameters, parameter.name) != &parameter)
      throw ParameterError(parameter.name, "is defined twice", "rename or remove one of the two");
    if (!parameter.when) continue;
    for (auto& clause : parameter.when->clauses) SettleClause(parameter, clause, parameters);
  }
}

bool DependsOnAny(const Parameter& parameter, const std::vector<Parameter>& others) {
  if (!parameter.when) return false;
  const auto& clauses = parameter.when->clauses;
  return std::any_of(clauses.begin(), clauses.end(),
                     [&](const auto& clause) { return FindParameter(others, clause.parameter) != nullptr; });
}

// Repeatedly takes the first parameter whose condition names none of the rest.
std::vector<Parameter> Ordered(std::vector<Parameter> rest) {
  std::vector<Parameter> ordered;
  while (!rest.empty()) {
    const auto ready = std::find_if(rest.begin(), rest.end(), [&](const auto& p) { return !DependsOnAny(p, rest); });
    if (ready == rest.end()) {
      throw ParameterError(rest.front().name, "its 'when' leads back to itself",
                           "remove one of the conditions of the circle");
    }
    ordered.push_back(std::move(*ready));
    rest.erase(ready);
  }
  return ordered;
}

/// Whether the values of the point make `parameter` inactive. Parameters that it leaves out could still make it active.
bool IsSurelyInactive(const Parameter& parameter, const Point& point, const std::vector<std::string>& inactive) {
  if (!parameter.when) return false;
  return std::ranges::any_of(parameter.when->clauses, [&](const auto& clause) {
    const Scalar* value = Find(point, clause.parameter);
    if (value == nullptr) return std::ranges::find(inactive, clause.parameter) != inactive.end();
    return !IsAmong(clause.values, *value);
  });
}

constexpr const char* kConstraintsMember = "";  // no parameter has this name

std::vector<std::string> Texts(const Json& list) {
  std::vector<std::string> texts;
  for (const auto& text : list) {
    if (!list.is_array() || !text.is_string()) {
      throw Error(ErrorKind::kUsage, "the constraints of the search space must be a list of texts",
                  R"(write for example constraints: ["units_1 <= units_0"])");
    }
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

}  // namespace

bool SearchSpace::Allows(const Point& point) const {
  return std::ranges::all_of(constraints_, [&](const auto& constraint) { return constraint.HoldsAt(point); });
}

SearchSpace MakeSearchSpace(std::vector<Parameter> parameters, const std::vector<std::string>& constraints) {
  SettleTogether(parameters);
  SearchSpace space;
  space.parameters_ = Ordered(std::move(parameters));
  for (const auto& text : constraints) space.constraints_.emplace_back(text, space.parameters_);
  return space;
}

SearchSpace ParseSpace(const Json& definitions) {
  if (!definitions.is_object())
    throw Error(ErrorKind::kUsage, "the search space must be a map of parameters",
                "write for example space: {lr: {log: [1e-4, 1e-1]}}");
  std::vector<Parameter> parameters;
  std::vector<std::string> constraints;
  for (const auto& [name, definition] : definitions.items()) {
    if (name == kConstraintsMember) {
      constraints = Texts(definition);
    } else {
      parameters.push_back(ParseParameter(name, definition));
    }
  }
  return MakeSearchSpace(std::move(parameters), constraints);
}

Json ToJson(const SearchSpace& space) {
  Json json = Json::object();
  for (const auto& parameter : space.parameters()) json[parameter.name] = ToJson(parameter);
  for (const auto& constraint : space.constraints()) json[kConstraintsMember].push_back(constraint.text());
  return json;
}

Point CanonicalValues(const SearchSpace& space, Point point) {
  for (auto& [name, value] : point) {
    const auto* parameter = FindParameter(space.parameters(), name);
    if (parameter == nullptr) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("there is no parameter '{}'{}", name, SuggestWord(name, NamesOf(space.parameters()))));
    }
    auto canonical = Canonical(parameter->domain, value);
    if (!canonical) {
      throw ParameterError(
          name, fmt::format("{} is not one of its values{}", Describe(value), SuggestValue(parameter->domain, value)));
    }
    value = std::move(*canonical);
  }
  return point;
}

Point CheckedPoint(const SearchSpace& space, const Point& written) {
  const Point given = CanonicalValues(space, written);
  Point point;
  std::vector<std::string> inactive;
  for (const auto& parameter : space.parameters()) {
    const Scalar* value = Find(given, parameter.name);
    const bool surely_inactive = IsSurelyInactive(parameter, given, inactive);
    if (surely_inactive) inactive.push_back(parameter.name);
    if (value == nullptr) continue;
    if (surely_inactive)
      throw ParameterError(parameter.name, "it is not active beside the other values of the point",
                           "leave it out of the point");
    point.emplace_back(parameter.name, *value);
  }
  for (const auto& constraint : space.constraints()) {
    if (constraint.HoldsAt(point)) continue;
    throw Error(ErrorKind::kUsage, fmt::format("the point breaks the constraint \"{}\"", constraint.text()),
                "change a value of the point");
  }
  return point;
}

SearchSpace StoredSpace(const StudyRecord& study) try {
  return ParseSpace(Json::parse(study.space, nullptr, false));
} catch (const Error& error) {
  throw Error(ErrorKind::kEnvironment, "the trial book holds a search space that cannot be: " + error.message(),
              "it was changed by another program; restore it from a copy");
}

}  // namespace slipway::ensemble
