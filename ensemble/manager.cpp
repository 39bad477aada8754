#include "ensemble/manager.h"

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "ensemble/answer_requests.h"
#include "ensemble/crash_point.h"
#include "ensemble/judge_reports.h"
#include "ensemble/live_attempt.h"
#include "ensemble/next_trial.h"
#include "ensemble/open_study.h"
#include "ensemble/record_end.h"
#include "ensemble/requests.h"
#include "ensemble/verdict.h"

namespace slipway::ensemble {
namespace {

// How long the manager sleeps at most while requests from outside may come.
constexpr auto kLookForRequests = std::chrono::seconds(1);
constexpr auto kLongest = std::chrono::hours(1);

double SecondsSince(SteadyTime begin, SteadyTime now) { return std::chrono::duration<double>(now - begin).count(); }

class Manager {
 public:
  Manager(TrialBook& book, const EnsembleOptions& options, TrialRunner& runner, EnsembleObserver& observer,
          Clock& clock)
      : book_(book),
        options_(options),
        runner_(runner),
        observer_(observer),
        clock_(clock),
        begun_(clock.Steady()),
        study_(book, options, Now()),
        judge_(options),
        meter_(options.budget, book.Used(), 0),
        packer_(options.nodes, options.need) {}

  EnsembleSummary Run() {
    book_.BeginSession(Now(), host_);
    judge_.Restore(book_, study_.trials());
    failed_ = study_.trials().Count(TrialState::kFailed);
    TakeOver();
    Round({});
    while (!running_.empty()) Round(NextEvents());
    book_.Settle();
    return Summarise();
  }

 private:
  /// Its Prepare failed.
  struct Unstarted {
    TrialNumber trial;
    std::string detail;
  };

  double Now() { return UnixSeconds(clock_.Now()); }
  /// Of this manager; the clock of the day has no part in it.
  double SecondsUp() { return SecondsSince(begun_, clock_.Steady()); }

  Changes NewChanges() {
    Changes changes;
    changes.time = Now();
    changes.host = host_;
    return changes;
  }

  // --- what an earlier manager left ---

  /// Ends what still runs, and takes over what that manager did not live to write down.
  void TakeOver() {
    Changes changes = NewChanges();
    changes.remark = study_.trials().size() == 0 ? "started" : "resumed";
    for (const auto& left : book_.OpenAttempts()) {
      if (study_.trials().Has(left.trial)) TakeOver(left, changes);
    }
    Commit(changes);
  }

  void TakeOver(const AttemptRecord& left, Changes& changes) {
    if (left.process) runner_.EndOrphan(*left.process);
    running_.emplace(left.trial, LiveAttempt(book_, left.trial, left.number, options_.objectives));
    if (left.process) {
      for (const auto& event : runner_.Recover(left.trial, left.number)) Take(event, changes);
    }
    const auto attempt = running_.find(left.trial);
    if (attempt == running_.end()) return;
    if (left.process && runner_.GoesOn(left.trial, left.number)) return FollowOn(left.trial, attempt->second);
    HeedWish(left.trial, attempt->second);
    const bool was_to_end = attempt->second.stop.has_value();
    End(left.trial, was_to_end ? Judge(FactsOf(left.trial, std::nullopt)) : JudgeLost(), std::nullopt, changes);
  }

  /// It runs, or waits in its queue, as it did for the manager before. Who was told to stop may not have heard it.
  void FollowOn(TrialNumber trial, const LiveAttempt& attempt) {
    TrialRecord& record = study_.Edit(trial);
    record.state = TrialState::kRunning;
    study_.Changed(trial);
    if (attempt.stop) runner_.Stop(trial, *attempt.stop);
  }

  // --- rounds ---

  std::vector<TrialEvent> NextEvents() { return runner_.Wait(LongestWait()); }

  std::chrono::nanoseconds LongestWait() {
    if (!unstarted_.empty()) return std::chrono::nanoseconds(0);
    std::chrono::nanoseconds wait =
        options_.requests_in.empty() ? std::chrono::nanoseconds(kLongest) : std::chrono::nanoseconds(kLookForRequests);
    if (!stopping_) wait = std::min(wait, Until(SecondsLeft()));
    for (const auto& [trial, attempt] : running_) {
      if (attempt.stop || !options_.trial_time_limit) continue;
      wait = std::min(wait, Until(*options_.trial_time_limit - attempt.Elapsed(clock_.Steady())));
    }
    return wait;
  }

  static std::chrono::nanoseconds Until(double seconds) {
    const double bounded = std::clamp(seconds, 0.0, std::chrono::duration<double>(kLongest).count());
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(bounded)) +
           std::chrono::milliseconds(1);
  }

  /// Of the budget and of this run.
  double SecondsLeft() {
    double left = meter_.SecondsLeft(SecondsUp());
    if (options_.manager_time_limit) left = std::min(left, *options_.manager_time_limit - SecondsUp());
    return left;
  }

  void Round(const std::vector<TrialEvent>& events) {
    Changes changes = NewChanges();
    TakeAll(events, changes);
    for (const auto& failed : std::exchange(unstarted_, {})) EndUnstarted(failed, changes);
    if (!options_.requests_in.empty()) AnswerRequests(changes);
    WatchLimits();
    AskToStop(changes);
    Claim(changes);
    Prepared prepared;
    if (HangOnKeepers(changes)) {
      Commit(changes, [&] { prepared = Prepare(changes); });
    } else {
      Commit(changes);
    }
    for (const auto& stop : changes.stops) runner_.Stop(stop.trial, stop.reason);
    if (!changes.stops.empty()) CrashPoint("after_stop");
    if (!HangOnKeepers(changes)) prepared = Prepare(changes);
    Launch(prepared);
    book_.ShareSnapshot(clock_.Steady());
  }

  void AnswerRequests(Changes& changes) {
    ensemble::AnswerRequests(options_, book_, study_, changes);
    for (const auto trial : changes.requeued) judge_.End(trial, TrialState::kQueued);
  }

  // --- what happened ---

  /// Of trials that were told to stop the ends come last: what becomes of them may depend on the others.
  void TakeAll(const std::vector<TrialEvent>& events, Changes& changes) {
    std::vector<const TrialEvent*> told;
    for (const auto& event : events) {
      if (IsEndOfTold(event)) {
        told.push_back(&event);
      } else {
        Take(event, changes);
      }
    }
    for (const auto* event : told) Take(*event, changes);
  }

  bool IsEndOfTold(const TrialEvent& event) {
    const auto* ended = std::get_if<TrialEnded>(&event);
    const auto* attempt = ended != nullptr ? Present(ended->trial, ended->attempt) : nullptr;
    return attempt != nullptr && attempt->stop;
  }

  void Take(const TrialEvent& event, Changes& changes) {
    if (const auto* metric = std::get_if<TrialMetric>(&event)) {
      TakeMetric(*metric, changes);
    } else if (const auto* ended = std::get_if<TrialEnded>(&event)) {
      TakeEnd(*ended, changes);
    } else if (const auto* began = std::get_if<TrialBegan>(&event)) {
      TakeBegin(*began, changes);
    } else if (const auto* lost = std::get_if<NodeLost>(&event)) {
      packer_.Lose(lost->node);
      out_of_nodes_ = packer_.OutOfNodes();
    } else {
      interrupted_ = true;
      StopAll(StopReason::kCancelled);
    }
  }

  /// The attempt if it is the present one of its trial; events of others come too late to count.
  LiveAttempt* Present(TrialNumber trial, int attempt) {
    const auto found = running_.find(trial);
    return found != running_.end() && found->second.number() == attempt ? &found->second : nullptr;
  }

  void TakeMetric(const TrialMetric& metric, Changes& changes) {
    LiveAttempt* attempt = Present(metric.trial, metric.attempt);
    if (attempt == nullptr) return;
    changes.metrics.push_back(
        {metric.trial, metric.attempt, metric.name, metric.step, metric.epoch, metric.value, metric.time});
    attempt->Take(changes.metrics.back(), changes.time);
    judge_.Take(changes.metrics.back(), *attempt, changes.rungs);
  }

  void TakeBegin(const TrialBegan& began, Changes& changes) {
    LiveAttempt* attempt = Present(began.trial, began.attempt);
    if (attempt == nullptr || attempt->started()) return;
    Begin(*attempt, began.time);
    study_.Edit(began.trial).started = began.time;
    study_.Changed(began.trial);
    changes.starts.push_back({began.trial, began.attempt, ProcessIdentity{}, began.time});
  }

  /// It runs since `time`, and its time counts.
  void Begin(LiveAttempt& attempt, double time) {
    const auto since = std::chrono::duration<double>(std::max(0.0, Now() - time));
    attempt.Start(time, clock_.Steady() - std::chrono::duration_cast<SteadyTime::duration>(since));
    meter_.AddNodes(options_.need.nodes, SecondsUp());
  }

  AttemptFacts FactsOf(TrialNumber trial, std::optional<ExitStatus> status) const {
    AttemptFacts facts = running_.at(trial).Facts(status);
    facts.failures = study_.at(trial).failures;
    facts.retries = options_.retries;
    facts.is_whole = judge_.IsWhole(trial);
    facts.may_wait = judge_.scheduler().MayWait(trial);
    facts.may_end = judge_.scheduler().MayEnd(trial);
    return facts;
  }

  void TakeEnd(const TrialEnded& ended, Changes& changes) {
    LiveAttempt* attempt = Present(ended.trial, ended.attempt);
    if (attempt == nullptr) return;
    if (AsksToGoOn(ended.status)) HeedLateWish(ended.trial, *attempt);
    AttemptFacts facts = FactsOf(ended.trial, ended.status);
    facts.cause = ended.cause;
    facts.detail = ended.detail;
    End(ended.trial, Judge(facts), ended.status, changes);
  }

  /// It ended before it could be told what the scheduler wants. To wait makes sense only where it may be promoted.
  void HeedLateWish(TrialNumber trial, LiveAttempt& attempt) {
    const auto wish = judge_.WishFor(trial);
    if (wish && (wish->stop == StopReason::kPruned || judge_.scheduler().MayWait(trial))) HeedWish(trial, attempt);
  }

  void EndUnstarted(const Unstarted& failed, Changes& changes) {
    AttemptFacts facts = FactsOf(failed.trial, std::nullopt);
    facts.cause = OutsideCause::kNotStarted;
    facts.detail = failed.detail;
    End(failed.trial, Judge(facts), std::nullopt, changes);
  }

  void End(TrialNumber number, const Verdict& verdict, std::optional<ExitStatus> status, Changes& changes) {
    const LiveAttempt attempt = std::move(running_.extract(number).mapped());
    RecordEnd(number, attempt, verdict, status, study_, judge_, changes);
    if (verdict.trial == TrialState::kFailed) ++failed_;
    packer_.GiveBack(attempt.place);
    if (attempt.started()) meter_.AddNodes(-options_.need.nodes, SecondsUp());
  }

  // --- what to do ---

  void WatchLimits() {
    if (options_.max_failures && failed_ > *options_.max_failures) {
      too_many_failures_ = true;
      StopAll(StopReason::kCancelled);
    }
    if (!stopping_ && SecondsLeft() <= 0) {
      out_of_time_ = true;
      StopAll(StopReason::kTimeLimit);
    }
  }

  /// The first reason counts.
  void StopAll(StopReason reason) {
    if (!stopping_) stopping_ = reason;
  }

  void AskToStop(Changes& changes) {
    for (auto& [trial, attempt] : running_) {
      if (attempt.stop) continue;
      HeedWish(trial, attempt);
      attempt.HeedTimeLimit(options_.trial_time_limit, clock_.Steady());
      if (!attempt.stop && stopping_) attempt.stop = stopping_;
      if (attempt.stop) changes.stops.push_back({trial, attempt.number(), *attempt.stop});
    }
    judge_.ForgetWishes();
  }

  void HeedWish(TrialNumber trial, LiveAttempt& attempt) {
    const auto wish = judge_.WishFor(trial);
    if (!wish || attempt.stop) return;
    attempt.stop = wish->stop;
    attempt.stop_detail = wish->why;
  }

  void Claim(Changes& changes) {
    while (!stopping_ && static_cast<int>(running_.size()) < options_.parallel) {
      auto place = Place();
      if (!place) return;
      const auto trial = NextTrial(options_, study_, judge_.scheduler(), running_.size(), changes);
      if (!trial) {
        packer_.GiveBack(*place);
        return;
      }
      Claim(*trial, std::move(*place), changes);
    }
  }

  /// Empty where trials are not placed; nothing when none fits now.
  std::optional<std::vector<NodeShare>> Place() {
    if (options_.nodes.empty()) return std::vector<NodeShare>{};
    return packer_.Take();
  }

  void Claim(TrialNumber number, std::vector<NodeShare> place, Changes& changes) {
    TrialRecord& trial = study_.Edit(number);
    trial.state = TrialState::kClaimed;
    const int attempt = ++trial.attempts;
    study_.Changed(number);
    changes.claims.push_back({number, attempt, place, options_.need.nodes});
    if (const auto keeper = runner_.Keeper(place)) changes.starts.push_back({number, attempt, keeper});
    LiveAttempt live(options_.objectives, attempt);
    live.place = std::move(place);
    running_.emplace(number, std::move(live));
  }

  /// `meanwhile` runs while the disk is at work; what it does must not matter to anybody when the commit fails.
  void Commit(const Changes& changes, const std::function<void()>& meanwhile = {}) {
    if (changes.Empty()) return;
    if (!changes.ends.empty()) CrashPoint("before_tell_commit");
    if (!changes.claims.empty()) CrashPoint("before_claim_commit");
    if (!changes.stops.empty()) CrashPoint("before_stop_commit");
    Write(changes, meanwhile);
    if (!changes.ends.empty()) CrashPoint("after_tell_commit");
    if (!changes.claims.empty()) CrashPoint("after_claim_commit");
    if (!changes.stops.empty()) CrashPoint("after_stop_commit");
    if (!changes.answers.empty()) CrashPoint("after_answer_commit");
    for (const auto& answer : changes.answers) RemoveRequest(options_.requests_in, answer.name);
    Announce(changes);
  }

  void Write(const Changes& changes, const std::function<void()>& meanwhile) {
    if (!meanwhile) return book_.Write(changes);
    auto durable = book_.BeginWrite(changes);
    meanwhile();
    durable.get();
  }

  void Announce(const Changes& changes) {
    for (const auto& metric : changes.metrics) observer_.MetricReported(metric);
    if (changes.ends.empty()) return;
    const auto best = study_.Best();
    for (const auto& end : changes.ends) observer_.AttemptEnded(end.trial, end.attempt_state, best ? &*best : nullptr);
  }

  // --- starting ---

  /// Attempts at their gates, and what the book does not know of them yet.
  struct Prepared {
    std::vector<TrialNumber> trials;
    std::vector<Changes::Start> starts;
  };

  static bool HangOnKeepers(const Changes& changes) {
    const auto is_there = [&](const Changes::Claim& claim) {
      return std::ranges::find(changes.starts, claim.trial, &Changes::Start::trial) != changes.starts.end();
    };
    return !changes.claims.empty() && std::ranges::all_of(changes.claims, is_there);
  }

  Prepared Prepare(const Changes& claimed) {
    for (const auto& claim : claimed.claims) {
      if (claim.attempt > 1) RecallEarlier(claim);
    }
    Prepared prepared;
    for (const auto& claim : claimed.claims) {
      const auto process = Prepare(claim);
      if (!process) continue;
      prepared.trials.push_back(claim.trial);
      if (IsKnown(claimed.starts, claim.trial, *process)) continue;
      prepared.starts.push_back({claim.trial, claim.attempt, process});
    }
    return prepared;
  }

  void Launch(const Prepared& prepared) {
    Changes changes = NewChanges();
    changes.starts = prepared.starts;
    // Processes do not outlive the machine, so what tells of them need not.
    if (!changes.starts.empty()) book_.Write(changes, Outlives::kProcess);
    if (!prepared.trials.empty()) CrashPoint("after_running_commit");
    for (const auto trial : prepared.trials) Release(trial, changes.time);
  }

  static bool IsKnown(const std::vector<Changes::Start>& starts, TrialNumber trial, const ProcessIdentity& process) {
    return std::ranges::any_of(
        starts, [&](const Changes::Start& start) { return start.trial == trial && start.process == process; });
  }

  /// Not before the end of the attempt before is in the book, which may be in the same round.
  void RecallEarlier(const Changes::Claim& claim) {
    LiveAttempt recalled(book_, claim.trial, claim.attempt, options_.objectives);
    recalled.place = claim.place;
    running_.erase(claim.trial);
    running_.emplace(claim.trial, std::move(recalled));
  }

  /// Nothing when it cannot be started.
  std::optional<ProcessIdentity> Prepare(const Changes::Claim& claim) {
    const TrialRecord& trial = study_.at(claim.trial);
    const Json parameters = ToJson(trial.parameters);
    std::optional<ProcessIdentity> process;
    try {
      process = runner_.Prepare({claim.trial, claim.attempt, parameters, trial.repeat, trial.parent, claim.place,
                                 judge_.scheduler().Limit(claim.trial)});
    } catch (const Error& error) {
      unstarted_.push_back({claim.trial, error.message()});
    }
    CrashPoint("after_prepare");
    return process;
  }

  void Release(TrialNumber number, double now) {
    runner_.Release(number);
    TrialRecord& trial = study_.Edit(number);
    trial.state = TrialState::kRunning;
    trial.started = now;
    trial.ended.reset();
    study_.Changed(number);
    if (!runner_.Queues()) Begin(running_.at(number), now);
    CrashPoint("after_release");
    observer_.AttemptStarted(trial);
  }

  EnsembleSummary Summarise() const {
    const auto& trials = study_.trials();
    EnsembleSummary summary;
    summary.complete = trials.Count(TrialState::kComplete);
    summary.failed = trials.Count(TrialState::kFailed);
    summary.pruned = trials.Count(TrialState::kPruned);
    summary.paused = trials.Count(TrialState::kPaused);
    summary.waiting = trials.Count(TrialState::kQueued);
    summary.best = study_.Best();
    summary.interrupted = interrupted_;
    summary.too_many_failures = too_many_failures_;
    summary.out_of_time = out_of_time_;
    summary.out_of_nodes = out_of_nodes_;
    summary.exhausted = study_.exhausted();
    return summary;
  }

  TrialBook& book_;
  const EnsembleOptions& options_;
  TrialRunner& runner_;
  EnsembleObserver& observer_;
  Clock& clock_;
  const std::string host_ = HostName();
  const SteadyTime begun_;

  OpenStudy study_;
  ReportJudge judge_;
  Meter meter_;  // its times are seconds of this manager
  Packer packer_;
  std::map<TrialNumber, LiveAttempt> running_;
  std::vector<Unstarted> unstarted_;
  int failed_ = 0;
  std::optional<StopReason> stopping_;
  bool interrupted_ = false;
  bool too_many_failures_ = false;
  bool out_of_time_ = false;
  bool out_of_nodes_ = false;
};

}  // namespace

EnsembleSummary RunEnsemble(TrialBook& book, const EnsembleOptions& options, TrialRunner& runner,
                            EnsembleObserver& observer, Clock& clock) {
  return Manager(book, options, runner, observer, clock).Run();
}

}  // namespace slipway::ensemble
