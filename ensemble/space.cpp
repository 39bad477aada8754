#include "ensemble/space.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/nearest_word.h"

namespace slipway::ensemble {
namespace {

const std::array<std::string, 7> kWords = {"uniform", "log", "int", "int_log", "choice", "fixed", "when"};

[[noreturn]] void Refuse(std::string_view name, std::string_view reason, std::string next_step = {}) {
  throw Error(ErrorKind::kUsage, fmt::format("parameter '{}': {}", name, reason), std::move(next_step));
}

std::string Shown(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

void CheckBorders(std::string_view name, std::string_view kind, const Json& borders) {
  const bool is_pair = borders.is_array() && borders.size() == 2;
  if (!is_pair || !borders[0].is_number() || !borders[1].is_number()) {
    Refuse(name, fmt::format("'{}' needs two numbers [low, high], not {}", kind, Shown(borders)));
  }
  const auto low = borders[0].get<double>();
  const auto high = borders[1].get<double>();
  if (!std::isfinite(low) || !std::isfinite(high)) {
    Refuse(name, fmt::format("the borders of '{}' must be finite numbers, not [{}, {}]", kind, low, high));
  }
  if (low >= high) {
    Refuse(name, fmt::format("'{}' needs low < high, not {}", kind, Shown(borders)),
           low == high ? "write the value itself for a parameter that never changes" : "swap the two numbers");
  }
}

UniformDomain ParseUniform(std::string_view name, const Json& borders) {
  CheckBorders(name, "uniform", borders);
  const UniformDomain domain{borders[0].get<double>(), borders[1].get<double>()};
  if (!std::isfinite(domain.high - domain.low)) Refuse(name, "the borders of 'uniform' lie too far apart");
  return domain;
}

LogDomain ParseLog(std::string_view name, const Json& borders) {
  CheckBorders(name, "log", borders);
  const LogDomain domain{borders[0].get<double>(), borders[1].get<double>()};
  if (domain.low <= 0) {
    Refuse(name, fmt::format("'log' needs low > 0, not {}", Shown(borders)), "use 'uniform' for a range that holds 0");
  }
  return domain;
}

std::int64_t Integer(std::string_view name, std::string_view kind, const Json& json) {
  const auto scalar = ScalarFromJson(json);
  if (scalar && std::holds_alternative<std::int64_t>(*scalar)) return std::get<std::int64_t>(*scalar);
  // 1e3 is written as a floating-point number and is an integer all the same; beyond 2^53 that is not sure.
  const double number = json.get<double>();
  if (number != std::floor(number) || std::abs(number) > 9007199254740992.0) {
    Refuse(name, fmt::format("'{}' needs integers within 64 bits, not {}", kind, Shown(json)));
  }
  return static_cast<std::int64_t>(number);
}

IntDomain ParseInt(std::string_view name, const Json& borders) {
  CheckBorders(name, "int", borders);
  return {Integer(name, "int", borders[0]), Integer(name, "int", borders[1])};
}

IntLogDomain ParseIntLog(std::string_view name, const Json& borders) {
  CheckBorders(name, "int_log", borders);
  const IntLogDomain domain{Integer(name, "int_log", borders[0]), Integer(name, "int_log", borders[1])};
  if (domain.low < 1) {
    Refuse(name, fmt::format("'int_log' needs low >= 1, not {}", Shown(borders)), "use 'int' for a range that holds 0");
  }
  return domain;
}

bool IsAmong(const std::vector<Scalar>& values, const Scalar& value) {
  return std::any_of(values.begin(), values.end(), [&](const Scalar& other) { return SameValue(other, value); });
}

ChoiceDomain ParseChoice(std::string_view name, const Json& values) {
  if (!values.is_array()) Refuse(name, fmt::format("'choice' needs a list of values, not {}", Shown(values)));
  if (values.empty()) Refuse(name, "'choice' has no values");
  ChoiceDomain domain;
  for (const auto& json : values) {
    auto value = ScalarFromJson(json);
    if (!value) Refuse(name, fmt::format("'choice' takes numbers, texts, true, false and null, not {}", Shown(json)));
    if (IsAmong(domain.values, *value)) Refuse(name, fmt::format("'choice' holds {} twice", Shown(json)));
    domain.values.push_back(std::move(*value));
  }
  return domain;
}

FixedDomain ParseFixed(std::string_view name, const Json& json) {
  auto value = ScalarFromJson(json);
  if (!value)
    Refuse(name,
           fmt::format("a fixed value must be a finite number, a text, true, false or null, not {}", Shown(json)));
  return {std::move(*value)};
}

Condition ParseCondition(std::string_view name, const Json& when) {
  if (!when.is_object() || when.empty()) Refuse(name, "'when' needs {other parameter: value or list of values}");
  Condition condition;
  for (const auto& [other, wanted] : when.items()) {
    Condition::Clause clause{other, {}};
    const Json list = wanted.is_array() ? wanted : Json::array({wanted});
    if (list.empty()) Refuse(name, fmt::format("'when' lists no values of '{}'", other));
    for (const auto& json : list) {
      auto value = ScalarFromJson(json);
      if (!value) Refuse(name, fmt::format("'when' cannot compare '{}' with {}", other, Shown(json)));
      clause.values.push_back(std::move(*value));
    }
    condition.clauses.push_back(std::move(clause));
  }
  return condition;
}

Domain ParseDomain(std::string_view name, std::string_view kind, const Json& value) {
  if (kind == "uniform") return ParseUniform(name, value);
  if (kind == "log") return ParseLog(name, value);
  if (kind == "int") return ParseInt(name, value);
  if (kind == "int_log") return ParseIntLog(name, value);
  if (kind == "choice") return ParseChoice(name, value);
  return ParseFixed(name, value);
}

// The one member that says what kind of domain it is.
std::string DomainWord(std::string_view name, const Json& definition) {
  std::string kind;
  for (const auto& [word, unused] : definition.items()) {
    if (std::find(kWords.begin(), kWords.end(), word) == kWords.end()) {
      Refuse(name, fmt::format("unknown kind '{}'{}", word, SuggestWord(word, kWords)));
    }
    if (word == "when") continue;
    if (!kind.empty()) Refuse(name, fmt::format("has both '{}' and '{}'; one is needed", kind, word));
    kind = word;
  }
  if (kind.empty()) Refuse(name, "has no domain; one of 'uniform', 'log', 'int', 'int_log', 'choice', 'fixed' is needed");
  return kind;
}

std::string DomainName(const Domain& domain) { return kWords[domain.index()]; }

const Parameter* FindParameter(const std::vector<Parameter>& parameters, std::string_view name) {
  const auto found = std::find_if(parameters.begin(), parameters.end(), [&](const auto& p) { return p.name == name; });
  return found == parameters.end() ? nullptr : &*found;
}

std::vector<std::string> OtherNames(const std::vector<Parameter>& parameters, std::string_view name) {
  std::vector<std::string> names;
  for (const auto& parameter : parameters) {
    if (parameter.name != name) names.push_back(parameter.name);
  }
  return names;
}

void CheckClause(const Parameter& parameter, const Condition::Clause& clause, const std::vector<Parameter>& all) {
  const Parameter* other = FindParameter(all, clause.parameter);
  if (other == nullptr) {
    Refuse(parameter.name, fmt::format("'when' names '{}', which is no parameter{}", clause.parameter,
                                       SuggestWord(clause.parameter, OtherNames(all, parameter.name))));
  }
  const bool is_continuous =
      std::holds_alternative<UniformDomain>(other->domain) || std::holds_alternative<LogDomain>(other->domain);
  if (is_continuous) {
    Refuse(parameter.name,
           fmt::format("'when' cannot depend on '{}', which is '{}'", other->name, DomainName(other->domain)),
           "conditions work on 'choice', 'int', 'int_log' and fixed parameters");
  }
  for (const auto& value : clause.values) {
    if (Contains(other->domain, value)) continue;
    Refuse(parameter.name, fmt::format("'when' waits for {} = {}, a value that '{}' never has", other->name,
                                       Describe(value), other->name));
  }
}

void CheckTogether(const std::vector<Parameter>& parameters) {
  for (const auto& parameter : parameters) {
    if (FindParameter(parameters, parameter.name) != &parameter) Refuse(parameter.name, "is defined twice");
    if (!parameter.when) continue;
    for (const auto& clause : parameter.when->clauses) CheckClause(parameter, clause, parameters);
  }
}

bool DependsOnAny(const Parameter& parameter, const std::vector<Parameter>& others) {
  if (!parameter.when) return false;
  const auto& clauses = parameter.when->clauses;
  return std::any_of(clauses.begin(), clauses.end(),
                     [&](const auto& clause) { return FindParameter(others, clause.parameter) != nullptr; });
}

// Takes, again and again, the first parameter that waits for none of the rest.
std::vector<Parameter> Ordered(std::vector<Parameter> rest) {
  std::vector<Parameter> ordered;
  while (!rest.empty()) {
    const auto ready = std::find_if(rest.begin(), rest.end(), [&](const auto& p) { return !DependsOnAny(p, rest); });
    if (ready == rest.end()) {
      Refuse(rest.front().name, "its 'when' leads back to itself", "remove one of the conditions of the circle");
    }
    ordered.push_back(std::move(*ready));
    rest.erase(ready);
  }
  return ordered;
}

bool IsBetween(std::int64_t low, std::int64_t high, const Scalar& value, double number) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return low <= *integer && *integer <= high;
  return number == std::floor(number) && number >= static_cast<double>(low) && number <= static_cast<double>(high);
}

Json DomainToJson(const Domain& domain) {
  if (const auto* choice = std::get_if<ChoiceDomain>(&domain)) {
    Json values = Json::array();
    for (const auto& value : choice->values) values.push_back(ToJson(value));
    return values;
  }
  if (const auto* fixed = std::get_if<FixedDomain>(&domain)) return ToJson(fixed->value);
  if (const auto* integers = std::get_if<IntDomain>(&domain)) return Json::array({integers->low, integers->high});
  if (const auto* integers = std::get_if<IntLogDomain>(&domain)) return Json::array({integers->low, integers->high});
  if (const auto* log = std::get_if<LogDomain>(&domain)) return Json::array({log->low, log->high});
  const auto& uniform = std::get<UniformDomain>(domain);
  return Json::array({uniform.low, uniform.high});
}

Json ConditionToJson(const Condition& condition) {
  Json when = Json::object();
  for (const auto& clause : condition.clauses) {
    Json values = Json::array();
    for (const auto& value : clause.values) values.push_back(ToJson(value));
    when[clause.parameter] = std::move(values);
  }
  return when;
}

}  // namespace

Parameter ParseParameter(std::string_view name, const Json& definition) {
  if (name.empty()) throw Error(ErrorKind::kUsage, "a parameter of the search space has an empty name");
  if (!definition.is_object()) return {std::string(name), ParseFixed(name, definition), std::nullopt};
  const std::string kind = DomainWord(name, definition);
  Parameter parameter{std::string(name), ParseDomain(name, kind, definition.at(kind)), std::nullopt};
  if (definition.contains("when")) parameter.when = ParseCondition(name, definition.at("when"));
  return parameter;
}

Json ToJson(const Parameter& parameter) {
  Json json = Json::object();
  json[DomainName(parameter.domain)] = DomainToJson(parameter.domain);
  if (parameter.when) json["when"] = ConditionToJson(*parameter.when);
  return json;
}

bool Contains(const Domain& domain, const Scalar& value) {
  if (const auto* choice = std::get_if<ChoiceDomain>(&domain)) return IsAmong(choice->values, value);
  if (const auto* fixed = std::get_if<FixedDomain>(&domain)) return SameValue(fixed->value, value);
  const auto* integer = std::get_if<std::int64_t>(&value);
  const auto* real = std::get_if<double>(&value);
  if (integer == nullptr && real == nullptr) return false;
  const double number = integer != nullptr ? static_cast<double>(*integer) : *real;
  if (const auto* range = std::get_if<IntDomain>(&domain)) return IsBetween(range->low, range->high, value, number);
  if (const auto* range = std::get_if<IntLogDomain>(&domain)) return IsBetween(range->low, range->high, value, number);
  if (const auto* log = std::get_if<LogDomain>(&domain)) return log->low <= number && number <= log->high;
  const auto& uniform = std::get<UniformDomain>(domain);
  return uniform.low <= number && number <= uniform.high;
}

SearchSpace MakeSearchSpace(std::vector<Parameter> parameters) {
  CheckTogether(parameters);
  SearchSpace space;
  space.parameters_ = Ordered(std::move(parameters));
  return space;
}

SearchSpace ParseSpace(const Json& definitions) {
  if (!definitions.is_object()) throw Error(ErrorKind::kUsage, "the search space must be a map of parameters");
  std::vector<Parameter> parameters;
  for (const auto& [name, definition] : definitions.items()) parameters.push_back(ParseParameter(name, definition));
  return MakeSearchSpace(std::move(parameters));
}

bool IsActive(const Parameter& parameter, const Point& point) {
  if (!parameter.when) return true;
  const auto& clauses = parameter.when->clauses;
  return std::all_of(clauses.begin(), clauses.end(), [&](const auto& clause) {
    const Scalar* value = Find(point, clause.parameter);
    return value != nullptr && IsAmong(clause.values, *value);
  });
}

}  // namespace slipway::ensemble
