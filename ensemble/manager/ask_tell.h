/// A study driven from outside: who asks for a trial runs it himself and tells how it ended.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/clock.h"
#include "ensemble/manager/judge_reports.h"
#include "ensemble/manager/live_attempt.h"
#include "ensemble/manager/verdict.h"
#include "ensemble/model/study_clock.h"
#include "ensemble/study/open_study.h"

namespace slipway::ensemble {

/// What becomes of trials that an earlier session gave out and nobody told about.
/// kKeep: they still run, somewhere, and may be told. kQueueAgain: they are lost, and are given out again.
enum class Unfinished { kKeep, kQueueAgain };

/// When a trial that was given out counts as lost: it is given out again, as its next attempt.
struct LossRules {
  Unfinished earlier = Unfinished::kKeep;
  std::optional<double> silence = {};  ///< seconds without a report; nothing: it may be silent for ever
};

/// A trial to run. `attempt` above 1: it was paused, lost or retried, and goes on.
struct AskedTrial {
  TrialNumber trial = 0;
  int attempt = 1;
  int repeat = 0;
  std::optional<TrialNumber> parent;  ///< its first attempt goes on from what this trial has learnt
  std::optional<double> limit;        ///< the scheduler's resource at which it may be paused next; nothing: its end
  Point parameters;
};

/// No trial may begin now. Where some run, their ends may change that.
struct NothingToRun {
  std::string why;
  std::size_t running = 0;
};

/// What became of a trial: its results, one for each objective (none: what it has reported counts); that it failed;
/// that it was not worth going on.
struct ToldResults {
  std::vector<double> values;
};
struct ToldFailed {
  std::string reason;
};
struct ToldPruned {};
using Told = std::variant<ToldResults, ToldFailed, ToldPruned>;

/// Values of one step, by the names of their metrics.
struct ToldReport {
  std::int64_t step = 0;
  std::optional<double> epoch;  ///< where the scheduler counts epochs and none is given, the step counts
  std::vector<std::pair<std::string, double>> metrics;
};

/// What the scheduler wants of a running trial. To stop and to pause it is the caller's: he ends it and tells, and the
/// trial is then pruned or paused, whatever he tells.
struct Advice {
  Decision decision = Decision::kContinue;
  std::string reason;
};

/// One session. Everything is in the book, durably, when a call returns.
/// Errors: Error(kUsage) for what cannot be (an unknown trial, a value outside of the space): nothing has changed then.
/// After any other error (the book's) the session is over; a new one begins with what the book holds.
class AskTell {
 public:
  /// Begins the study of an empty book or goes on with its study.
  /// Errors: kUsage when the options contradict the book; kBusy when a trial of an earlier manager still runs.
  AskTell(TrialBook& book, EnsembleOptions options, LossRules rules, Clock& clock = SystemClock());
  AskTell(const AskTell&) = delete;
  AskTell& operator=(const AskTell&) = delete;

  /// In the order of the manager: what waits in line, what the scheduler promotes, what the sampler chooses. Budgets in
  /// trials and max_failures hold, and the time limit of a trial: one that is out for longer has timed out. Limits of
  /// the whole ensemble's time do not: it is the caller's.
  std::variant<AskedTrial, NothingToRun> Ask();
  /// What the trial is now: one that was told to have failed is queued again while `retries` are left. A value that is
  /// not finite is a failure for good. `attempt`, if given, must be the present one.
  TrialRecord Tell(TrialNumber trial, const Told& told, std::optional<int> attempt = std::nullopt);
  Advice Report(TrialNumber trial, const ToldReport& report, std::optional<int> attempt = std::nullopt);
  /// Takes up what waits in the folder of requests (requests.h), as each Ask does: to be called while nobody asks.
  void AnswerRequests();
  /// Lines up a configuration, which may leave parameters out. Returns its first trial.
  TrialNumber Enqueue(const Point& point);

  const OpenStudy& study() const { return study_; }
  const EnsembleOptions& options() const { return options_; }
  /// Trials that are given out and not told yet.
  std::size_t running() const { return running_.size(); }
  /// Leaves the book as one plain file. The session may go on.
  void Settle() { book_.Settle(); }

 private:
  double Now() { return UnixSeconds(clock_.Now()); }
  Changes NewChanges();
  void Write(const Changes& changes);
  void TakeOver(Unfinished unfinished);
  void EndOverdue(Changes& changes);
  void EndAs(TrialNumber trial, const Verdict& verdict, Changes& changes);
  void AnswerRequests(Changes& changes);
  void RemoveAnswered(const Changes& changes) const;
  void GiveOut(TrialNumber trial, Changes& changes);
  std::string WhyNothing() const;
  LiveAttempt& Running(TrialNumber trial, std::optional<int> attempt);
  Verdict JudgeTold(TrialNumber trial, LiveAttempt& attempt, const Told& told) const;

  TrialBook& book_;
  EnsembleOptions options_;
  LossRules rules_;
  StudyClock clock_;
  std::string host_;
  OpenStudy study_;
  ReportJudge judge_;
  std::map<TrialNumber, LiveAttempt> running_;
};

}  // namespace slipway::ensemble
