#include "launcher/workflow/condition.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "ensemble/space/constraint.h"

namespace slipway::launcher {
namespace {

struct Condition {
  std::string text;  ///< references as names in backquotes
  std::vector<Reference> references;
};

/// `steps.train.metrics.loss`, without the brackets.
std::string NameOf(const Reference& reference) {
  const auto written = WrittenForm(reference);
  return written.substr(2, written.size() - 3);
}

Condition ParseCondition(std::string_view text) {
  Condition condition;
  for (const auto& piece : SplitAtReferences(text)) {
    if (const auto* reference = std::get_if<Reference>(&piece)) {
      condition.text += "`" + NameOf(*reference) + "`";
      condition.references.push_back(*reference);
    } else {
      condition.text += std::get<std::string>(piece);
    }
  }
  return condition;
}

ensemble::Constraint Compile(const Condition& condition) {
  std::vector<ensemble::Parameter> parameters;
  for (const auto& reference : condition.references) {
    parameters.push_back(ensemble::ParseParameter(NameOf(reference), Json{{"uniform", {-1e300, 1e300}}}));
  }
  return {condition.text, parameters};
}

}  // namespace

void CheckCondition(std::string_view text) { Compile(ParseCondition(text)); }

bool ConditionHolds(std::string_view text, const std::function<Json(const Reference&)>& value_of) {
  const auto condition = ParseCondition(text);
  const auto constraint = Compile(condition);
  ensemble::Point point;
  for (const auto& reference : condition.references) {
    const auto value = value_of(reference);
    if (!value.is_number()) {
      throw Error(ErrorKind::kFailed, fmt::format("{} is {}, not a number", WrittenForm(reference), value.dump()),
                  "correct 'when', or what the step reports");
    }
    point.emplace_back(NameOf(reference), value.get<double>());
  }
  return constraint.HoldsAt(point);
}

}  // namespace slipway::launcher
