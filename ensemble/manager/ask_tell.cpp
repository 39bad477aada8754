#include "ensemble/manager/ask_tell.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/process_identity.h"
#include "core/units.h"
#include "ensemble/manager/answer_requests.h"
#include "ensemble/manager/next_trial.h"
#include "ensemble/manager/record_end.h"
#include "ensemble/manager/requests.h"

namespace slipway::ensemble {
namespace {

/// The exit status of a program that ended well. It stands for a caller who tells a result.
constexpr ExitStatus kEndedWell{0, 0};

/// How long to wait for a locked book: the caller's program has nothing to do meanwhile.
constexpr auto kPatienceWithOthers = std::chrono::minutes(1);

/// Given out by an earlier session of AskTell; it may still run elsewhere.
bool IsOutside(const AttemptRecord& attempt) { return attempt.state == TrialState::kRunning && !attempt.process; }

void CheckNotAlive(const AttemptRecord& attempt) {
  if (!attempt.process || !IsAlive(*attempt.process)) return;
  throw Error(
      ErrorKind::kBusy,
      fmt::format("trial {} still runs as process {}, which its manager has left", attempt.trial, attempt.process->pid),
      "end it with: slipway resume, then Ctrl-C");
}

/// The verdict on a trial without further news. If it was asked to stop or to pause, it has done so; else it is lost.
Verdict JudgeSilent(const LiveAttempt& attempt) {
  return attempt.stop ? Judge(attempt.Facts(std::nullopt)) : JudgeLost();
}

std::string WhyNotRunning(const TrialRecord& trial) {
  const auto state = fmt::format("trial {} does not run: it is {}", trial.number, WordOf(trial.state));
  return trial.reason.empty() ? state : fmt::format("{} ({})", state, trial.reason);
}

/// By the steady clock.
SteadyTime Ago(Clock& clock, double seconds) {
  return clock.Steady() - std::chrono::duration_cast<SteadyTime::duration>(Seconds(std::max(0.0, seconds)));
}

Advice AdviceFor(const LiveAttempt& attempt) {
  if (!attempt.stop) return {};
  if (*attempt.stop == StopReason::kTrialTimeLimit) return {Decision::kStop, "time limit: " + attempt.stop_detail};
  return {*attempt.stop == StopReason::kPaused ? Decision::kPause : Decision::kStop, attempt.stop_detail};
}

}  // namespace

AskTell::AskTell(TrialBook& book, EnsembleOptions options, LossRules rules, Clock& clock)
    : book_(book),
      options_(std::move(options)),
      rules_(rules),
      clock_(clock, book.LastReading()),
      host_(HostName()),
      study_(book, options_, Now()),
      judge_(options_) {
  for (const auto& attempt : book_.OpenAttempts()) CheckNotAlive(attempt);
  book_.SetPatience(kPatienceWithOthers);
  book_.BeginSession(clock_.Reading(), host_);
  judge_.Restore(book_, study_.trials());
  TakeOver(rules_.earlier);
}

Changes AskTell::NewChanges() {
  Changes changes;
  changes.time = Now();
  changes.host = host_;
  return changes;
}

void AskTell::Write(const Changes& changes) {
  if (!changes.Empty()) book_.Write(changes);
  book_.ShareSnapshot(clock_.Steady());
}

void AskTell::TakeOver(Unfinished unfinished) {
  Changes changes = NewChanges();
  for (const auto& left : book_.OpenAttempts()) {
    LiveAttempt attempt(book_, left.trial, left.number, options_.objectives);
    const double begun = left.started.value_or(left.claimed);
    attempt.Start(begun, Ago(clock_, changes.time - begun));
    const auto verdict = JudgeSilent(attempt);
    running_.emplace(left.trial, std::move(attempt));
    if (unfinished == Unfinished::kQueueAgain || !IsOutside(left)) EndAs(left.trial, verdict, changes);
  }
  Write(changes);
}

const TrialRecord& AskTell::EndAs(TrialNumber trial, const Verdict& verdict, Changes& changes) {
  const LiveAttempt attempt = std::move(running_.extract(trial).mapped());
  return RecordEnd(trial, attempt, verdict, {}, study_, judge_, changes);
}

void AskTell::EndOverdue(Changes& changes) {
  std::map<TrialNumber, Verdict> overdue;
  for (auto& [trial, attempt] : running_) {
    attempt.HeedTimeLimit(options_.trial_time_limit, clock_.Steady());
    if (attempt.stop == StopReason::kTrialTimeLimit) {
      overdue[trial] = Judge(attempt.Facts(std::nullopt));
    } else if (rules_.silence && attempt.SilentFor(changes.time) >= *rules_.silence) {
      overdue[trial] = JudgeSilent(attempt);
      if (!attempt.stop)
        overdue[trial].reason = "nothing was heard of it for " + FormatDuration(Seconds(*rules_.silence));
    }
  }
  for (const auto& [trial, verdict] : overdue) EndAs(trial, verdict, changes);
}

void AskTell::AnswerRequests(Changes& changes) {
  if (!options_.requests_in.empty()) ensemble::AnswerRequests(options_, book_, study_, judge_, changes);
}

void AskTell::RemoveAnswered(const Changes& changes) const {
  for (const auto& answer : changes.answers) RemoveRequest(options_.requests_in, answer.name);
}

void AskTell::AnswerRequests() {
  Changes changes = NewChanges();
  AnswerRequests(changes);
  Write(changes);
  RemoveAnswered(changes);
}

std::variant<AskedTrial, NothingToRun> AskTell::Ask() {
  Changes changes = NewChanges();
  EndOverdue(changes);
  if (!changes.ends.empty()) {  // the next attempt of such a trial recalls from the book what it has used
    Write(changes);
    changes = NewChanges();
  }
  AnswerRequests(changes);
  const int failed = study_.trials().CountOwnFailures();
  const bool may_begin = !options_.max_failures || failed <= *options_.max_failures;
  std::optional<TrialNumber> next;
  if (may_begin) next = NextTrial(options_, study_, judge_.scheduler(), changes);
  if (next) GiveOut(*next, changes);
  Write(changes);
  RemoveAnswered(changes);
  if (!next) return NothingToRun{may_begin ? WhyNothing() : fmt::format("{} trials have failed", failed), running()};
  const TrialRecord& trial = study_.at(*next);
  return AskedTrial{trial.number,    trial.attempts, trial.repeat, trial.parent, judge_.scheduler().Limit(*next),
                    trial.parameters};
}

void AskTell::GiveOut(TrialNumber number, Changes& changes) {
  const int attempt = study_.Claim(number);
  TrialRecord& trial = study_.Edit(number);
  BecomeRunning(trial, changes.time);
  study_.Changed(number);
  changes.claims.push_back({number, attempt});
  changes.starts.push_back({number, attempt, std::nullopt});
  LiveAttempt live(book_, number, attempt, options_.objectives);
  live.Start(changes.time, clock_.Steady());
  running_.emplace(number, std::move(live));
}

std::string AskTell::WhyNothing() const {
  if (study_.exhausted()) return "the space has no more points";
  if (!study_.HasBudget()) return fmt::format("all {} trials have begun", study_.trials().size());
  return "the scheduler waits for trials that run";
}

LiveAttempt& AskTell::Running(TrialNumber trial, std::optional<int> attempt) {
  const auto found = running_.find(trial);
  if (found == running_.end()) {
    const bool exists = study_.trials().Has(trial);
    throw Error(ErrorKind::kUsage,
                exists ? WhyNotRunning(study_.at(trial)) : fmt::format("there is no trial {}", trial),
                "ask for a trial first");
  }
  if (attempt && *attempt != found->second.number()) {
    throw Error(ErrorKind::kUsage,
                fmt::format("attempt {} of trial {} does not run: it is at attempt {}", *attempt, trial,
                            found->second.number()),
                "leave this one: the trial was given to someone else");
  }
  return found->second;
}

Verdict AskTell::JudgeTold(TrialNumber trial, LiveAttempt& attempt, const Told& told) const {
  const auto* failed = std::get_if<ToldFailed>(&told);
  if (failed != nullptr && !attempt.stop) {
    const bool retry = study_.at(trial).failures < options_.retries;
    return {TrialState::kFailed, retry ? TrialState::kQueued : TrialState::kFailed, Outcome::kFailed, failed->reason};
  }
  if (std::holds_alternative<ToldPruned>(told) && !attempt.stop) attempt.stop = StopReason::kPruned;
  if (const auto* results = std::get_if<ToldResults>(&told)) attempt.Tell(results->values);
  AttemptFacts facts = attempt.Facts(kEndedWell);
  facts.failures = study_.at(trial).failures;
  return Judge(facts);
}

TrialRecord AskTell::Tell(TrialNumber trial, const Told& told, std::optional<int> attempt_number) {
  LiveAttempt& present = Running(trial, attempt_number);
  const auto* results = std::get_if<ToldResults>(&told);
  if (results != nullptr && !results->values.empty() && results->values.size() != options_.objectives.size()) {
    throw Error(ErrorKind::kUsage,
                fmt::format("the ensemble has {} objectives, but {} values were given", options_.objectives.size(),
                            results->values.size()),
                "tell one value for each objective, in their order");
  }
  const auto verdict = JudgeTold(trial, present, told);
  Changes changes = NewChanges();
  const TrialRecord& row = EndAs(trial, verdict, changes);
  Write(changes);
  return row;
}

Advice AskTell::Report(TrialNumber trial, const ToldReport& report, std::optional<int> attempt_number) {
  LiveAttempt& attempt = Running(trial, attempt_number);
  Changes changes = NewChanges();
  auto epoch = report.epoch;
  if (!epoch && options_.resource == "epoch") epoch = static_cast<double>(report.step);
  for (const auto& [name, value] : report.metrics) {
    changes.metrics.push_back({trial, attempt.number(), name, report.step, epoch, value, changes.time});
    attempt.Take(changes.metrics.back(), changes.time);
    judge_.Take(changes.metrics.back(), attempt, changes.rungs);
  }
  const bool was_told = attempt.stop.has_value();
  attempt.HeedTimeLimit(options_.trial_time_limit, clock_.Steady());
  const auto request = judge_.StopRequestFor(trial);
  if (request && !attempt.stop) {
    attempt.stop = request->stop;
    attempt.stop_detail = request->why;
  }
  if (attempt.stop && !was_told) changes.stops.push_back({trial, attempt.number(), *attempt.stop, attempt.stop_detail});
  judge_.ForgetStopRequests();
  Write(changes);
  return AdviceFor(attempt);
}

TrialNumber AskTell::Enqueue(const Point& point) {
  if (!study_.HasBudget()) {
    throw Error(ErrorKind::kUsage, fmt::format("all {} trials are used", options_.trials), "raise ensemble.trials");
  }
  Changes changes = NewChanges();
  const auto trial = AddEnqueued(options_, study_, point, changes);
  Write(changes);
  return trial;
}

}  // namespace slipway::ensemble
