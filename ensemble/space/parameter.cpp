#include "ensemble/space/parameter.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "core/json_text.h"
#include "core/nearest_word.h"

namespace slipway::ensemble {
namespace {

/// Names of domains in other tools. By edit distance alone, 'loguniform' would suggest 'uniform'.
constexpr std::pair<std::string_view, std::string_view> kCustomaryKinds[] = {
    {"loguniform", "log"},   {"log_uniform", "log"}, {"reciprocal", "log"},     {"qloguniform", "log"},
    {"logint", "int_log"},   {"log_int", "int_log"}, {"lograndint", "int_log"}, {"int_loguniform", "int_log"},
    {"randint", "int"},      {"integer", "int"},     {"int_uniform", "int"},    {"float", "uniform"},
    {"quniform", "uniform"}, {"range", "uniform"},   {"categorical", "choice"}, {"choices", "choice"},
    {"values", "choice"},    {"grid", "choice"},     {"grid_search", "choice"}, {"constant", "fixed"},
    {"const", "fixed"},      {"value", "fixed"},     {"linear", "uniform"},     {"discrete", "ordinal"}};

std::string SuggestKind(std::string_view word, const std::vector<std::string>& words) {
  const auto customary = std::ranges::find(kCustomaryKinds, word, [](const auto& entry) { return entry.first; });
  if (customary == std::end(kCustomaryKinds)) return SuggestWord(word, words);
  return fmt::format("; did you mean '{}'?", customary->second);
}

/// Reads the definition of one parameter. Every error names the parameter and the kind of domain.
class Definition {
 public:
  Definition(std::string_view name, const Json& json) : name_(name), json_(json), kind_(DomainWord()) {}

  Domain Read() const {
    const auto reader = std::ranges::find(kReaders, kind_, &Reader::first);
    if (json_.contains("step") && kind_ != "uniform" && kind_ != "int") {
      throw ParameterError(name_, fmt::format("'step' belongs to 'uniform' and 'int', not to '{}'", kind_),
                           "leave 'step' out");
    }
    return (this->*reader->second)();
  }

 private:
  using Reader = std::pair<std::string_view, Domain (Definition::*)() const>;
  static const std::array<Reader, 7> kReaders;

  const Json& Value() const { return json_.at(kind_); }

  /// The member that names the kind of domain.
  std::string DomainWord() const {
    std::vector<std::string> kinds;
    for (const auto& reader : kReaders) kinds.emplace_back(reader.first);
    auto words = kinds;
    words.insert(words.end(), {"step", "when"});
    std::string kind;
    for (const auto& [word, unused] : json_.items()) {
      if (std::ranges::find(words, word) == words.end()) {
        throw ParameterError(name_, fmt::format("unknown kind '{}'{}", word, SuggestKind(word, words)));
      }
      if (word == "when" || word == "step") continue;
      if (!kind.empty())
        throw ParameterError(name_, fmt::format("has both '{}' and '{}'", kind, word), "leave one of them out");
      kind = word;
    }
    if (kind.empty())
      throw ParameterError(name_, "has no domain", fmt::format("give it one of '{}'", fmt::join(kinds, "', '")));
    return kind;
  }

  void CheckBorders() const {
    const Json& borders = Value();
    const bool is_pair = borders.is_array() && borders.size() == 2;
    if (!is_pair || !borders[0].is_number() || !borders[1].is_number()) {
      throw ParameterError(name_, fmt::format("'{}' needs two numbers [low, high], not {}", kind_, JsonText(borders)),
                           fmt::format("write {}: [LOW, HIGH]", kind_));
    }
    const auto low = borders[0].get<double>();
    const auto high = borders[1].get<double>();
    if (!std::isfinite(low) || !std::isfinite(high)) {
      throw ParameterError(name_,
                           fmt::format("the borders of '{}' must be finite numbers, not [{}, {}]", kind_, low, high),
                           "write two finite numbers");
    }
    if (low >= high) {
      throw ParameterError(
          name_, fmt::format("'{}' needs low < high, not {}", kind_, JsonText(borders)),
          low == high ? "write the value itself for a parameter that never changes" : "swap the two numbers");
    }
  }

  std::int64_t Integer(std::string_view what, const Json& json) const {
    const auto scalar = ScalarFromJson(json);
    if (scalar && std::holds_alternative<std::int64_t>(*scalar)) return std::get<std::int64_t>(*scalar);
    // 1e3 is a floating-point number in JSON, but an integer here. Beyond 2^53 it may be rounded.
    const double number = json.get<double>();
    if (number != std::floor(number) || std::abs(number) > 9007199254740992.0) {
      throw ParameterError(name_, fmt::format("'{}' needs integers within 64 bits, not {}", what, JsonText(json)),
                           "write whole numbers");
    }
    return static_cast<std::int64_t>(number);
  }

  void CheckStep(double width) const {
    const Json& step = json_.at("step");
    if (!step.is_number() || !(step.get<double>() > 0)) {
      throw ParameterError(name_, fmt::format("'step' must be a number above 0, not {}", JsonText(step)),
                           "write for example step: 0.1");
    }
    if (step.get<double>() > width) {
      throw ParameterError(name_,
                           fmt::format("'step' {} is wider than the range {}", JsonText(step), JsonText(Value())),
                           "choose a smaller step, or widen the range");
    }
  }

  Domain Uniform() const {
    CheckBorders();
    UniformDomain domain{Value()[0].get<double>(), Value()[1].get<double>()};
    const double width = domain.high - domain.low;
    if (!std::isfinite(width))
      throw ParameterError(name_, "the borders of 'uniform' lie too far apart", "choose a narrower range");
    if (!json_.contains("step")) return domain;
    CheckStep(width);
    domain.step = json_.at("step").get<double>();
    if (width / domain.step > 1e9)
      throw ParameterError(name_, "'step' makes more than a billion values", "leave it out");
    return domain;
  }

  Domain Log() const {
    CheckBorders();
    const LogDomain domain{Value()[0].get<double>(), Value()[1].get<double>()};
    if (domain.low <= 0) {
      throw ParameterError(name_, fmt::format("'log' needs low > 0, not {}", JsonText(Value())),
                           "use 'uniform' for a range that holds 0");
    }
    return domain;
  }

  Domain Int() const {
    CheckBorders();
    IntDomain domain{Integer("int", Value()[0]), Integer("int", Value()[1])};
    if (!json_.contains("step")) return domain;
    CheckStep(static_cast<double>(domain.high) - static_cast<double>(domain.low));
    domain.step = Integer("step", json_.at("step"));
    return domain;
  }

  Domain IntLog() const {
    CheckBorders();
    const IntLogDomain domain{Integer("int_log", Value()[0]), Integer("int_log", Value()[1])};
    if (domain.low < 1) {
      throw ParameterError(name_, fmt::format("'int_log' needs low >= 1, not {}", JsonText(Value())),
                           "use 'int' for a range that holds 0");
    }
    return domain;
  }

  std::vector<Scalar> List() const {
    if (!Value().is_array())
      throw ParameterError(name_, fmt::format("'{}' needs a list of values, not {}", kind_, JsonText(Value())),
                           fmt::format("write {}: [FIRST, SECOND]", kind_));
    if (Value().empty()) throw ParameterError(name_, fmt::format("'{}' has no values", kind_), "list at least one");
    std::vector<Scalar> values;
    for (const auto& json : Value()) {
      auto value = ScalarFromJson(json);
      if (!value) {
        throw ParameterError(
            name_, fmt::format("'{}' takes numbers, texts, true, false and null, not {}", kind_, JsonText(json)),
            "list single values");
      }
      if (IsAmong(values, *value))
        throw ParameterError(name_, fmt::format("'{}' holds {} twice", kind_, JsonText(json)), "remove one of the two");
      values.push_back(std::move(*value));
    }
    return values;
  }

  Domain Choice() const { return ChoiceDomain{List()}; }
  Domain Ordinal() const { return OrdinalDomain{List()}; }
  Domain Fixed() const;

  std::string_view name_;
  const Json& json_;
  std::string kind_;
};

const std::array<Definition::Reader, 7> Definition::kReaders = {{{"uniform", &Definition::Uniform},
                                                                 {"log", &Definition::Log},
                                                                 {"int", &Definition::Int},
                                                                 {"int_log", &Definition::IntLog},
                                                                 {"choice", &Definition::Choice},
                                                                 {"ordinal", &Definition::Ordinal},
                                                                 {"fixed", &Definition::Fixed}}};

FixedDomain ParseFixed(std::string_view name, const Json& json) {
  auto value = ScalarFromJson(json);
  if (!value) {
    throw ParameterError(
        name, fmt::format("a fixed value must be a finite number, a text, true, false or null, not {}", JsonText(json)),
        "write {choice: [FIRST, SECOND]} to choose among values");
  }
  return {std::move(*value)};
}

Domain Definition::Fixed() const { return ParseFixed(name_, Value()); }

Condition ParseCondition(std::string_view name, const Json& when) {
  if (!when.is_object() || when.empty())
    throw ParameterError(name, "'when' needs {other parameter: value or list of values}",
                         "write for example when: {optimizer: sgd}");
  Condition condition;
  for (const auto& [other, wanted] : when.items()) {
    Condition::Clause clause{other, {}};
    const Json list = wanted.is_array() ? wanted : Json::array({wanted});
    if (list.empty())
      throw ParameterError(name, fmt::format("'when' lists no values of '{}'", other), "list at least one");
    for (const auto& json : list) {
      auto value = ScalarFromJson(json);
      if (!value)
        throw ParameterError(name, fmt::format("'when' cannot compare '{}' with {}", other, JsonText(json)),
                             "compare with a number, a text, true, false or null");
      clause.values.push_back(std::move(*value));
    }
    condition.clauses.push_back(std::move(clause));
  }
  return condition;
}

Json ListToJson(const std::vector<Scalar>& values) {
  Json list = Json::array();
  for (const auto& value : values) list.push_back(ToJson(value));
  return list;
}

struct DomainToJson {
  Json operator()(const ChoiceDomain& choice) const { return ListToJson(choice.values); }
  Json operator()(const OrdinalDomain& ordinal) const { return ListToJson(ordinal.values); }
  Json operator()(const FixedDomain& fixed) const { return ToJson(fixed.value); }
  template <class Range>
  Json operator()(const Range& range) const {
    return Json::array({range.low, range.high});
  }
};

}  // namespace

ParameterError::ParameterError(std::string_view parameter, std::string_view reason, std::string next_step)
    : Error(ErrorKind::kUsage, fmt::format("parameter '{}': {}", parameter, reason), std::move(next_step)),
      parameter_(parameter) {}

Parameter ParseParameter(std::string_view name, const Json& definition) {
  if (name.empty())
    throw Error(ErrorKind::kUsage, "a parameter of the search space has an empty name", "give it a name");
  // A name without a value is an unfinished line.
  if (definition.is_null())
    throw ParameterError(name, "there is no definition", "write {fixed: null} for what is always null");
  if (!definition.is_object()) return {std::string(name), ParseFixed(name, definition), std::nullopt};
  Parameter parameter{std::string(name), Definition(name, definition).Read(), std::nullopt};
  if (definition.contains("when")) parameter.when = ParseCondition(name, definition.at("when"));
  return parameter;
}

Json ToJson(const Parameter& parameter) {
  Json json = Json::object();
  json[DomainName(parameter.domain)] = std::visit(DomainToJson{}, parameter.domain);
  const auto* uniform = std::get_if<UniformDomain>(&parameter.domain);
  if (uniform != nullptr && uniform->step != 0) json["step"] = uniform->step;
  const auto* integers = std::get_if<IntDomain>(&parameter.domain);
  if (integers != nullptr && integers->step != 1) json["step"] = integers->step;
  if (!parameter.when) return json;
  for (const auto& clause : parameter.when->clauses) json["when"][clause.parameter] = ListToJson(clause.values);
  return json;
}

bool IsActive(const Parameter& parameter, const Point& point) {
  if (!parameter.when) return true;
  const auto& clauses = parameter.when->clauses;
  return std::ranges::all_of(clauses, [&](const auto& clause) {
    const Scalar* value = Find(point, clause.parameter);
    return value != nullptr && IsAmong(clause.values, *value);
  });
}

std::vector<std::string> NamesOf(const std::vector<Parameter>& parameters) {
  std::vector<std::string> names;
  for (const auto& parameter : parameters) names.push_back(parameter.name);
  return names;
}

const Parameter* FindParameter(const std::vector<Parameter>& parameters, std::string_view name) {
  const auto found = std::ranges::find(parameters, name, &Parameter::name);
  return found == parameters.end() ? nullptr : &*found;
}

}  // namespace slipway::ensemble
