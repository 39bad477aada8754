/// Finds out from coordinates alone which axes are active.
#pragma once

#include <vector>

#include "ensemble/search/cube/encoding.h"

namespace slipway::ensemble {

/// The conditions of a space, translated once into places on axes.
/// Cost: `IsActive` checks the clauses of its axis.
class Activity {
 public:
  explicit Activity(const Encoding& encoding);

  /// Whether axis `i` is active, given the axes before it (NaN: inactive).
  bool IsActive(std::size_t i, const Coordinates& at) const;
  /// Whether the condition of another axis names axis `i`.
  bool Decides(std::size_t i) const { return decides_[i] != 0; }

 private:
  struct Clause {
    std::size_t axis = 0;
    std::vector<double> places;  // one of them
    double tolerance = 0;
  };
  struct Rule {
    bool possible = true;
    std::vector<Clause> clauses;  // all must hold
  };
  Rule RuleOf(const Encoding& encoding, const Parameter& parameter) const;
  static void Add(const Encoding& encoding, const Condition::Clause& clause, Rule& rule);

  std::vector<Rule> rules_;    // one for each axis
  std::vector<char> decides_;  // one for each axis
};

}  // namespace slipway::ensemble
