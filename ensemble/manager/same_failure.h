/// Trials that all fail in the same way, because of something that no parameter changes. Pure.
#pragma once

#include <set>
#include <string>

#include "ensemble/manager/verdict.h"
#include "ensemble/model/trial_runner.h"

namespace slipway::ensemble {

/// Two kinds of failure count. What could not be run at all (no start, exit status 126 or 127) is of the environment:
/// so many trials in a row are enough. Any other failure alike, by its status and the last line of its log without
/// paths and numbers, or without a value of the objective, may be one of the parameters: it counts only while no trial
/// of the study has ever worked. A failure without a word is like no other.
class SameFailure {
 public:
  /// `limit`: how many trials; 0: never. `any_has_worked`: a trial of the study is complete, or was stopped or paused.
  SameFailure(int limit, bool any_has_worked) : limit_(limit), any_has_worked_(any_has_worked) {}

  /// How an attempt ended.
  void Take(TrialNumber trial, const AttemptFacts& facts, const Verdict& verdict);

  /// "3 trials in a row failed alike: exit status 1: No module named 'torch'"; empty: trials may begin.
  const std::string& what() const { return what_; }

 private:
  void Worked();

  int limit_;
  bool any_has_worked_;
  std::string key_;  // of the trials below
  std::set<TrialNumber> trials_;
  std::string what_;
};

}  // namespace slipway::ensemble
