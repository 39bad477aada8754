/// Formulas over the parameters of a point, as trees.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ensemble/model/scalar.h"

namespace slipway::ensemble {

enum class Operation {
  kValue,      ///< `value`
  kParameter,  ///< the value of the parameter `name`
  kOr,         ///< of all operands
  kAnd,
  kNot,
  kEqual,
  kUnequal,
  kLess,
  kAtMost,
  kIn,     ///< the first operand is equal to one of the others
  kNumber  ///< `function` of one or more numbers
};

struct Expression {
  Operation operation = Operation::kValue;
  Scalar value = {};
  std::string name = {};
  double (*function)(const std::vector<double>& numbers) = nullptr;
  std::vector<Expression> operands = {};
};

/// The value of an expression at a point. Nothing: it depends on a parameter that is not active. `or` and `and` have a
/// value if the other operands decide (three-valued logic after Kleene).
/// Numbers that differ only by rounding are equal (rounding.h). Comparisons with NaN are false.
/// Cost: linear in the size of the tree; recursion as deep as the tree.
std::optional<Scalar> Evaluate(const Expression& expression, const Point& point);

}  // namespace slipway::ensemble
