#include "ensemble/space/expression.h"

#include <algorithm>

#include "ensemble/model/scalar.h"
#include "ensemble/space/rounding.h"

namespace slipway::ensemble {
namespace {

using Result = std::optional<Scalar>;

bool IsInteger(const Scalar& value) { return std::holds_alternative<std::int64_t>(value); }

bool AreEqual(const Scalar& left, const Scalar& right) {
  if (SameValue(left, right)) return true;
  if (IsInteger(left) && IsInteger(right)) return false;  // as doubles large ones may be the same
  return IsNumber(left) && IsNumber(right) && IsSameNumber(NumberOf(left), NumberOf(right));
}

bool IsLess(const Scalar& left, const Scalar& right) {
  return NumberOf(left) < NumberOf(right) && !AreEqual(left, right);
}

bool IsTrue(const Result& result) { return result && std::get<bool>(*result); }
bool IsFalse(const Result& result) { return result && !std::get<bool>(*result); }

/// `or` if `decisive` is true, `and` if it is false. One operand with this value decides.
Result Junction(const Expression& expression, const Point& point, bool decisive) {
  bool unknown = false;
  for (const auto& operand : expression.operands) {
    const auto result = Evaluate(operand, point);
    if (decisive ? IsTrue(result) : IsFalse(result)) return Scalar{decisive};
    unknown = unknown || !result;
  }
  if (unknown) return std::nullopt;
  return Scalar{!decisive};
}

/// The values of all operands, or nothing when one is not known.
std::optional<std::vector<Scalar>> Operands(const Expression& expression, const Point& point) {
  std::vector<Scalar> values;
  for (const auto& operand : expression.operands) {
    auto value = Evaluate(operand, point);
    if (!value) return std::nullopt;
    values.push_back(std::move(*value));
  }
  return values;
}

Scalar Apply(const Expression& expression, const std::vector<Scalar>& values) {
  switch (expression.operation) {
    case Operation::kNot: return !std::get<bool>(values[0]);
    case Operation::kEqual: return AreEqual(values[0], values[1]);
    case Operation::kUnequal: return !AreEqual(values[0], values[1]);
    case Operation::kLess: return IsLess(values[0], values[1]);
    case Operation::kAtMost: return IsLess(values[0], values[1]) || AreEqual(values[0], values[1]);
    case Operation::kIn:
      return std::any_of(values.begin() + 1, values.end(), [&](const Scalar& v) { return AreEqual(v, values[0]); });
    default: break;
  }
  std::vector<double> numbers;
  for (const auto& value : values) numbers.push_back(NumberOf(value));
  return expression.function(numbers);
}

}  // namespace

Result Evaluate(const Expression& expression, const Point& point) {
  if (expression.operation == Operation::kValue) return expression.value;
  if (expression.operation == Operation::kOr) return Junction(expression, point, /*decisive=*/true);
  if (expression.operation == Operation::kAnd) return Junction(expression, point, /*decisive=*/false);
  if (expression.operation == Operation::kParameter) {
    const Scalar* value = Find(point, expression.name);
    return value != nullptr ? Result(*value) : std::nullopt;
  }
  const auto values = Operands(expression, point);
  return values ? Result(Apply(expression, *values)) : std::nullopt;
}

}  // namespace slipway::ensemble
