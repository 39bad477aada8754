/// Constraints between parameters that every trial meets: "units_1 <= units_0".
#pragma once

#include <string>
#include <vector>

#include "ensemble/space/expression.h"
#include "ensemble/space/parameter.h"

namespace slipway::ensemble {

/// One expression that is true or false.
///
/// Operators, weakest first: `or`; `and`; `not`; comparisons; `+` and `-`; `*`, `/` and `%`; sign; `**`.
/// Comparisons: == != < <= > >=, chains as in 1 < a < b, and `in [..]`.
/// Operands: numbers, 'texts', true, false, null and names of parameters. Odd names stand in `backquotes`.
/// Functions: abs, sqrt, exp, log, log2, log10, floor, ceil, round, min, max.
/// Rules: a comparison with a parameter that is not active is neither true nor false. Only false breaks a constraint.
/// So "units_1 <= units_0" does not restrict points without units_1.
class Constraint {
 public:
  /// Errors: Error(kUsage) naming the expression, the character and the reason. Reasons: unknown names, with the
  ///         nearest parameter; texts as numbers; comparisons that no value can meet.
  /// Limits: kLongest characters; kDeepest nested brackets; kLargest operations and operands. A middle term of a chain
  ///         counts twice.
  Constraint(std::string text, const std::vector<Parameter>& parameters);
  static constexpr std::size_t kLongest = 1000;
  static constexpr int kDeepest = 50;
  static constexpr std::size_t kLargest = 10'000;

  const std::string& text() const { return text_; }
  bool HoldsAt(const Point& point) const;

 private:
  std::string text_;
  Expression expression_;
};

}  // namespace slipway::ensemble
