/// Conditions between parameters that every trial meets: "units_1 <= units_0".
#pragma once

#include <string>
#include <vector>

#include "ensemble/space/expression.h"
#include "ensemble/space/parameter.h"

namespace slipway::ensemble {

/// One expression that is true or false.
///
/// Syntax, weakest first: `or`, `and`, `not`, comparisons (== != < <= > >=, chains as in 1 < a < b, `in [..]`), + and
/// -,
/// * / and %, sign, ** ; numbers, 'texts', true, false, null, names of parameters (odd ones in `backquotes`), and
/// the functions abs, sqrt, exp, log, log2, log10, floor, ceil, round, min, max.
/// Rules: a comparison with a parameter that is not active is neither true nor false; a constraint is broken only by
/// false. So "units_1 <= units_0" says nothing about points without units_1.
class Constraint {
 public:
  /// Errors: Error(kUsage) naming the expression, the character and the reason: unknown names with the nearest
  /// parameter, texts as numbers, comparisons that no value can meet. At most kLongest characters, kDeepest brackets
  /// within each other, and kLargest operations and operands, a middle term of a chain counted twice.
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
