#include "ensemble/space/suggest_value.h"

#include <cmath>
#include <optional>
#include <vector>

#include "core/nearest_word.h"
#include "ensemble/model/scalar.h"

namespace slipway::ensemble {
namespace {

std::vector<Scalar> ValuesOf(const Domain& list) {
  std::vector<Scalar> values;
  for (std::uint64_t i = 0; i < CountValues(list); ++i) values.push_back(ValueAt(list, i));
  return values;
}

std::vector<std::string> TextsOf(const Domain& list) {
  std::vector<std::string> texts;
  for (const auto& value : ValuesOf(list)) {
    if (const auto* text = std::get_if<std::string>(&value)) texts.push_back(*text);
  }
  return texts;
}

/// The nearest number of a list; the earlier one if two are as near.
std::optional<Scalar> NearestOfList(const Domain& list, double number) {
  std::optional<Scalar> nearest;
  for (const auto& value : ValuesOf(list)) {
    const double distance = std::abs(NumberOf(value) - number);
    if (std::isnan(distance) || (nearest && distance >= std::abs(NumberOf(*nearest) - number))) continue;
    nearest = value;
  }
  return nearest;
}

Scalar NearestOfSteps(const Domain& steps, double number) {
  std::uint64_t first_above = 0;  // or equal; the last where all are below
  for (std::uint64_t end = CountValues(steps) - 1; first_above < end;) {
    const auto middle = first_above + (end - first_above) / 2;
    if (NumberOf(ValueAt(steps, middle)) < number) {
      first_above = middle + 1;
    } else {
      end = middle;
    }
  }
  const auto above = ValueAt(steps, first_above);
  if (first_above == 0) return above;
  const auto below = ValueAt(steps, first_above - 1);
  return number - NumberOf(below) < NumberOf(above) - number ? below : above;
}

std::optional<Scalar> Nearest(const Domain& domain, double number) {
  if (IsList(domain)) return NearestOfList(domain, number);
  if (!IsContinuous(domain)) return NearestOfSteps(domain, number);
  return AtUnit(domain, UnitOf(domain, number) > 1 ? 1 : 0);  // it lies beyond one end
}

}  // namespace

std::string SuggestValue(const Domain& domain, const Scalar& value) {
  const double number = NumberOf(value);
  const auto nearest = std::isnan(number) ? std::nullopt : Nearest(domain, number);
  if (nearest) return "; the nearest is " + Describe(*nearest);
  const auto texts = IsList(domain) ? TextsOf(domain) : std::vector<std::string>();
  const auto* text = std::get_if<std::string>(&value);
  return texts.empty() ? "" : SuggestWord(text != nullptr ? *text : Describe(value), texts);
}

}  // namespace slipway::ensemble
