/// Starts claimed attempts: prepares them at their gates, writes them to the book, opens the gates.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ensemble/manager/judge_reports.h"
#include "ensemble/manager/running_attempts.h"
#include "ensemble/model/changes.h"
#include "ensemble/model/trial_runner.h"
#include "ensemble/store/trial_book.h"
#include "ensemble/study/open_study.h"

namespace slipway::ensemble {

/// Attempts at their gates, and the changes that the book still lacks.
struct Prepared {
  std::vector<TrialNumber> trials;
  std::vector<Changes::Start> starts;
  std::vector<Changes::Queue> queued;
};

/// An attempt that could not be prepared, and why.
struct Unstarted {
  TrialNumber trial;
  std::string why;
};

/// Whether every claim names the supervisor of its attempt. Then attempts may be prepared before the claims are in the
/// book: nothing is lost if the manager dies in between.
bool HangOnSupervisors(const Changes& claimed);

class Starter {
 public:
  /// All arguments must outlive it.
  Starter(const EnsembleOptions& options, TrialBook& book, TrialRunner& runner, OpenStudy& study,
          const ReportJudge& judge, RunningAttempts& running)
      : options_(options), book_(book), runner_(runner), study_(study), judge_(judge), running_(running) {}

  /// Prepares the claimed attempts. Those that cannot be started are kept for TakeUnstarted().
  Prepared Prepare(const Changes& claimed);
  /// Writes `prepared` to the book, with the time and host of `changes`. Errors: what the book throws.
  void WriteDown(const Prepared& prepared, Changes changes);
  /// Opens the gate: the program runs from now on, or waits in its queue.
  const TrialRecord& Release(TrialNumber trial, double now);

  bool HasUnstarted() const { return !unstarted_.empty(); }
  std::vector<Unstarted> TakeUnstarted();

 private:
  void RecallEarlier(const Changes::Claim& claim);
  std::optional<ProcessIdentity> Prepare(const Changes::Claim& claim);
  void BeginNow(TrialRecord& trial, double now);

  const EnsembleOptions& options_;
  TrialBook& book_;
  TrialRunner& runner_;
  OpenStudy& study_;
  const ReportJudge& judge_;
  RunningAttempts& running_;
  std::vector<Unstarted> unstarted_;
};

}  // namespace slipway::ensemble
