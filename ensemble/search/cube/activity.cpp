#include "ensemble/search/cube/activity.h"

#include <algorithm>
#include <cmath>

namespace slipway::ensemble {
namespace {

const Parameter& ParameterNamed(const SearchSpace& space, const std::string& name) {
  return *std::ranges::find(space.parameters(), name, &Parameter::name);
}

}  // namespace

Activity::Activity(const Encoding& encoding) : decides_(encoding.axes().size(), 0) {
  for (const auto& axis : encoding.axes()) {
    rules_.push_back(RuleOf(encoding, encoding.space().parameters()[axis.parameter]));
    for (const auto& clause : rules_.back().clauses) decides_[clause.axis] = 1;
  }
}

// An axis with NaN shows that its parameter is not active. A parameter that never varies has no axis: its own
// conditions are used instead.
Activity::Rule Activity::RuleOf(const Encoding& encoding, const Parameter& parameter) const {
  Rule rule;
  if (!parameter.when) return rule;
  for (const auto& clause : parameter.when->clauses) {
    const auto& space = encoding.space();
    const auto& other = ParameterNamed(space, clause.parameter);
    const auto index = static_cast<std::size_t>(&other - space.parameters().data());
    const bool varies = std::ranges::find(encoding.axes(), index, &Axis::parameter) != encoding.axes().end();
    if (varies) {
      Add(encoding, clause, rule);
      continue;
    }
    auto inherited = RuleOf(encoding, other);
    const bool has_value = std::ranges::any_of(
        clause.values, [&](const Scalar& value) { return slipway::ensemble::Contains(other.domain, value); });
    rule.possible = rule.possible && inherited.possible && has_value;
    std::ranges::move(inherited.clauses, std::back_inserter(rule.clauses));
  }
  return rule;
}

void Activity::Add(const Encoding& encoding, const Condition::Clause& clause, Rule& rule) {
  Clause added;
  for (const auto& value : clause.values) {
    const auto at = encoding.Encode({{clause.parameter, value}});
    const auto place = std::ranges::find_if(at, [](double x) { return !std::isnan(x); });
    if (place == at.end()) continue;
    added.axis = static_cast<std::size_t>(place - at.begin());
    added.places.push_back(*place);
  }
  rule.possible = rule.possible && !added.places.empty();
  if (added.places.empty()) return;
  const auto& axis = encoding.axis(added.axis);
  const double count = axis.values == 0 ? 0x1p64 : static_cast<double>(axis.values);
  added.tolerance = axis.kind == AxisKind::kCategorical ? 0.5 : std::min(1e-9, 0.5 / count);
  rule.clauses.push_back(std::move(added));
}

bool Activity::IsActive(std::size_t i, const Coordinates& at) const {
  const auto holds = [&](const Clause& clause) {
    return std::ranges::any_of(clause.places,
                               [&](double place) { return std::abs(place - at[clause.axis]) < clause.tolerance; });
  };
  return rules_[i].possible && std::ranges::all_of(rules_[i].clauses, holds);
}

}  // namespace slipway::ensemble
