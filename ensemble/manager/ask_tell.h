/// A study driven from outside: the caller asks for a trial, runs it, and tells how it ended.
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

/// What happens to trials that an earlier session gave out and that have no result yet.
/// kKeep: they may still run elsewhere; Tell accepts their results. kQueueAgain: they are lost and given out again.
enum class Unfinished { kKeep, kQueueAgain };

/// When a trial that was given out counts as lost. A lost trial is given out again, as its next attempt.
struct LossRules {
  Unfinished earlier = Unfinished::kKeep;
  std::optional<double> silence = {};  ///< seconds without a report; nothing: no limit
};

/// A trial to run. `attempt` above 1: it was paused, lost or retried, and now goes on.
struct AskedTrial {
  TrialNumber trial = 0;
  int attempt = 1;
  int repeat = 0;
  std::optional<TrialNumber> parent;  ///< its first attempt goes on from the checkpoint of this trial
  std::optional<double> limit;        ///< resource at which the scheduler may pause it next; nothing: its end
  Point parameters;
};

/// No trial may begin now. The end of a running trial may change that.
struct NothingToRun {
  std::string why;
  std::size_t running = 0;
};

/// How a trial ended: with results, with a failure, or pruned by the caller.
/// Results: one value for each objective. Without values, the reports of the trial count.
struct ToldResults {
  std::vector<double> values;
};
struct ToldFailed {
  std::string reason;
};
struct ToldPruned {};
using Told = std::variant<ToldResults, ToldFailed, ToldPruned>;

/// The metrics of one step: name and value.
struct ToldReport {
  std::int64_t step = 0;
  std::optional<double> epoch;  ///< nothing: the step, if the scheduler counts epochs
  std::vector<std::pair<std::string, double>> metrics;
};

/// What the scheduler has decided about a running trial. For kStop and kPause the caller ends the trial and calls Tell.
/// Whatever result it then passes, the trial is pruned or paused; at its own time limit it has failed.
struct Advice {
  Decision decision = Decision::kContinue;
  std::string reason;
};

/// One session of asking and telling. When a call returns, its changes are in the book, durably.
/// Errors: Error(kUsage) for invalid calls (an unknown trial, a value outside of the space); nothing has changed then.
/// Any other error, such as one of the book, ends the session. A new session begins with what the book holds.
class AskTell {
 public:
  /// Begins a study in an empty book, or goes on with the study in it.
  /// Errors: kUsage when the options contradict the book; kBusy when a trial of an earlier manager still runs.
  AskTell(TrialBook& book, EnsembleOptions options, LossRules rules, Clock& clock = SystemClock());
  AskTell(const AskTell&) = delete;
  AskTell& operator=(const AskTell&) = delete;

  /// The next trial, in the manager's order: a queued one, one that the scheduler promotes, a new one of the sampler.
  /// The budget of trials, max_failures and the time limit of a trial apply: a trial that runs longer has timed out.
  /// Time limits of the whole ensemble do not apply: the caller keeps them.
  std::variant<AskedTrial, NothingToRun> Ask();
  /// Records how the trial ended, and returns its row. A failed trial is queued again while `retries` are left.
  /// A value that is not finite is a failure without a retry. `attempt`, if given, must be the present attempt.
  TrialRecord Tell(TrialNumber trial, const Told& told, std::optional<int> attempt = std::nullopt);
  Advice Report(TrialNumber trial, const ToldReport& report, std::optional<int> attempt = std::nullopt);
  /// Carries out the requests that wait in the requests folder (requests.h). Ask does so too: call this between asks.
  void AnswerRequests();
  /// Queues a configuration; the sampler chooses parameters that it leaves out. Returns its first trial.
  TrialNumber Enqueue(const Point& point);

  const OpenStudy& study() const { return study_; }
  const EnsembleOptions& options() const { return options_; }
  /// Number of trials that are given out and have no result yet.
  std::size_t running() const { return running_.size(); }
  /// Leaves the book as one plain file. The session may go on.
  void Settle() { book_.Settle(); }

 private:
  double Now() { return UnixSeconds(clock_.Now()); }
  Changes NewChanges();
  void Write(const Changes& changes);
  void TakeOver(Unfinished unfinished);
  void EndOverdue(Changes& changes);
  const TrialRecord& EndAs(TrialNumber trial, const Verdict& verdict, Changes& changes);
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
