/// Detects trials that all fail in the same way, for a cause that no parameter changes. Pure.
#pragma once

#include <set>
#include <string>

#include "ensemble/manager/verdict.h"
#include "ensemble/model/trial_runner.h"

namespace slipway::ensemble {

/// Counts failures in a row that are alike. Two kinds count:
///   - A program that could not be run at all (no start, exit status 126 or 127): the environment is the cause.
///   - Any other failure, but only while no trial of the study has ever worked: the parameters may be the cause.
/// Two failures are alike if exit status and last line of the log are the same, without paths and numbers. Trials
/// without a value of the objective are alike if the metric is the same. A failure with an empty log is like no other.
class SameFailure {
 public:
  /// `limit`: how many trials; 0: never. `any_has_worked`: a trial of the study is complete, pruned or paused.
  SameFailure(int limit, bool any_has_worked) : limit_(limit), any_has_worked_(any_has_worked) {}

  /// Takes the end of an attempt.
  void Take(TrialNumber trial, const AttemptFacts& facts, const Verdict& verdict);

  /// "3 trials in a row failed alike: exit status 1: No module named 'torch'". Empty: trials may begin.
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
