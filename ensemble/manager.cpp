#include "ensemble/manager.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "ensemble/crash_point.h"
#include "ensemble/samplers/sampler.h"
#include "ensemble/study.h"
#include "ensemble/verdict.h"

namespace slipway::ensemble {
namespace {

class Manager {
 public:
  Manager(TrialBook& book, const EnsembleOptions& options, TrialRunner& runner, EnsembleObserver& observer,
          Clock& clock)
      : book_(book), options_(options), runner_(runner), observer_(observer), clock_(clock) {}

  EnsembleSummary Run() {
    OpenStudy();
    TakeOver();
    Round({});
    while (!running_.empty()) Round(NextEvents());
    book_.Settle();
    return Summarise();
  }

 private:
  /// An attempt between its claim and its end.
  struct Attempt {
    int number = 1;
    std::optional<StopReason> stop;
    std::optional<MetricRecord> objective;
  };

  /// Its Prepare failed.
  struct Unstarted {
    TrialNumber trial;
    std::string detail;
  };

  double Now() { return UnixSeconds(clock_.Now()); }

  Changes NewChanges() {
    Changes changes;
    changes.time = Now();
    changes.host = host_;
    return changes;
  }

  void OpenStudy() {
    const auto stored = book_.Study();
    if (stored) CheckSameStudy(*stored, options_);
    const StudyRecord study = stored ? *stored : DescribeStudy(options_, Now());
    if (!stored) book_.CreateStudy(study, options_.space);
    if (study.trials != options_.trials) book_.SetBudget(options_.trials);
    sampler_ = MakeSampler({study.sampler, study.seed, study.grid_points, options_.trials, study.goal, options_.points},
                           options_.space);
    table_ = TrialTable(book_.Trials());
    for (const auto& trial : table_.trials()) {
      if (trial.state == TrialState::kQueued) queued_.insert(trial.number);
    }
    failed_ = table_.Count(TrialState::kFailed);
    if (const TrialRecord* best = table_.Best(options_.goal)) best_ = best->number;
  }

  /// Ends what an earlier manager left running, and takes over what it did not live to write down.
  void TakeOver() {
    Changes changes = NewChanges();
    changes.remark = table_.size() == 0 ? "started" : "resumed";
    for (const auto& left : book_.OpenAttempts()) {
      if (!table_.Has(left.trial)) continue;
      if (left.process) runner_.EndOrphan(*left.process);
      running_[left.trial] = {left.number, left.stop, book_.LastMetric(left.trial, left.number, options_.objective)};
      if (left.process) {
        for (const auto& event : runner_.Recover(left.trial, left.number)) Take(event, changes);
      }
      if (running_.contains(left.trial)) End(left.trial, JudgeLost(), std::nullopt, changes);
    }
    Commit(changes);
  }

  std::vector<TrialEvent> NextEvents() {
    return runner_.Wait(unstarted_.empty() ? std::chrono::nanoseconds(std::chrono::hours(1))
                                           : std::chrono::nanoseconds(0));
  }

  void Round(const std::vector<TrialEvent>& events) {
    Changes changes = NewChanges();
    for (const auto& event : events) Take(event, changes);
    for (const auto& failed : std::exchange(unstarted_, {})) EndUnstarted(failed, changes);
    WatchFailures();
    if (stopping_) AskToStop(changes);
    Claim(changes);
    Commit(changes);
    for (const auto& stop : changes.stops) runner_.Stop(stop.trial, stop.reason);
    Launch(changes.claims);
  }

  // --- what happened ---

  void Take(const TrialEvent& event, Changes& changes) {
    if (const auto* metric = std::get_if<TrialMetric>(&event)) {
      TakeMetric(*metric, changes);
    } else if (const auto* ended = std::get_if<TrialEnded>(&event)) {
      TakeEnd(*ended, changes);
    } else {
      interrupted_ = stopping_ = true;
    }
  }

  /// The attempt if it is the present one of its trial; events of others come too late to count.
  Attempt* Present(TrialNumber trial, int attempt) {
    const auto found = running_.find(trial);
    return found != running_.end() && found->second.number == attempt ? &found->second : nullptr;
  }

  void TakeMetric(const TrialMetric& metric, Changes& changes) {
    Attempt* attempt = Present(metric.trial, metric.attempt);
    if (attempt == nullptr) return;
    changes.metrics.push_back({metric.trial, metric.attempt, metric.name, metric.step, metric.epoch, metric.value});
    const bool is_objective = metric.name == options_.objective;
    const bool is_later = !attempt->objective || metric.step >= attempt->objective->step;
    if (is_objective && is_later) attempt->objective = changes.metrics.back();
  }

  AttemptFacts FactsOf(TrialNumber trial, const Attempt& attempt) const {
    AttemptFacts facts;
    facts.stop = attempt.stop;
    facts.metric = options_.objective;
    if (attempt.objective) facts.objective = attempt.objective->value;
    facts.failures = table_.at(trial).failures;
    facts.retries = options_.retries;
    return facts;
  }

  void TakeEnd(const TrialEnded& ended, Changes& changes) {
    const Attempt* attempt = Present(ended.trial, ended.attempt);
    if (attempt == nullptr) return;
    AttemptFacts facts = FactsOf(ended.trial, *attempt);
    facts.status = ended.status;
    facts.detail = ended.detail;
    End(ended.trial, Judge(facts), ended.status, changes);
  }

  void EndUnstarted(const Unstarted& failed, Changes& changes) {
    AttemptFacts facts = FactsOf(failed.trial, running_.at(failed.trial));
    facts.detail = failed.detail;
    End(failed.trial, Judge(facts), std::nullopt, changes);
  }

  void End(TrialNumber number, const Verdict& verdict, std::optional<ExitStatus> status, Changes& changes) {
    const Attempt attempt = running_.at(number);
    running_.erase(number);
    TrialRecord& trial = table_.at(number);
    trial.state = verdict.trial;
    trial.reason = verdict.reason;
    trial.ended = changes.time;
    if (verdict.attempt == TrialState::kFailed) ++trial.failures;
    if (verdict.trial == TrialState::kComplete) trial.objective = attempt.objective->value;
    if (verdict.trial == TrialState::kFailed) ++failed_;
    if (verdict.trial == TrialState::kQueued) queued_.insert(number);
    if (trial.objective && (!best_ || IsBetter(*trial.objective, *table_.at(*best_).objective, options_.goal))) {
      best_ = number;
    }
    changes.ends.push_back({attempt.number, verdict.attempt, status, verdict.reason, trial});
  }

  // --- what to do ---

  void WatchFailures() {
    if (!options_.max_failures || failed_ <= *options_.max_failures) return;
    too_many_failures_ = stopping_ = true;
  }

  void AskToStop(Changes& changes) {
    for (auto& [trial, attempt] : running_) {
      if (attempt.stop) continue;
      attempt.stop = StopReason::kCancelled;
      changes.stops.push_back({trial, attempt.number, *attempt.stop});
    }
  }

  void Claim(Changes& changes) {
    while (!stopping_ && static_cast<int>(running_.size()) < options_.parallel) {
      if (queued_.empty() && !Ask(changes)) return;
      const TrialNumber number = queued_.extract(queued_.begin()).value();
      TrialRecord& trial = table_.at(number);
      trial.state = TrialState::kClaimed;
      ++trial.attempts;
      running_[number] = {trial.attempts, std::nullopt, std::nullopt};
      changes.claims.push_back({number, trial.attempts});
    }
  }

  /// Queues the next new trial; false when the budget or the space is used up.
  bool Ask(Changes& changes) {
    if (table_.size() >= options_.trials || exhausted_) return false;
    TrialRecord trial;
    trial.number = table_.size();
    auto point = sampler_->Ask(trial.number, table_);
    exhausted_ = !point;
    if (!point) return false;
    trial.parameters = std::move(*point);
    trial.configuration = ConfigurationHash(trial.parameters);
    trial.created = changes.time;
    queued_.insert(trial.number);
    changes.trials.push_back(table_.Add(std::move(trial)));
    return true;
  }

  void Commit(const Changes& changes) {
    if (changes.Empty()) return;
    if (!changes.ends.empty()) CrashPoint("before_tell_commit");
    if (!changes.claims.empty()) CrashPoint("before_claim_commit");
    book_.Write(changes);
    if (!changes.ends.empty()) CrashPoint("after_tell_commit");
    if (!changes.claims.empty()) CrashPoint("after_claim_commit");
    Announce(changes);
  }

  void Announce(const Changes& changes) {
    for (const auto& metric : changes.metrics) observer_.MetricReported(metric);
    const TrialRecord* best = best_ ? &table_.at(*best_) : nullptr;
    for (const auto& end : changes.ends) observer_.AttemptEnded(end.trial, end.attempt_state, best);
  }

  void Launch(const std::vector<Changes::Claim>& claims) {
    if (claims.empty()) return;
    std::vector<Changes::Start> starts;
    for (const auto& claim : claims) Prepare(claim, starts);
    Changes changes = NewChanges();
    changes.starts = starts;
    if (!starts.empty()) book_.Write(changes);
    CrashPoint("after_running_commit");
    for (const auto& start : starts) Release(start.trial, changes.time);
  }

  void Prepare(const Changes::Claim& claim, std::vector<Changes::Start>& starts) {
    const Json parameters = ToJson(table_.at(claim.trial).parameters);
    try {
      starts.push_back({claim.trial, claim.attempt, runner_.Prepare({claim.trial, claim.attempt, parameters})});
    } catch (const Error& error) {
      unstarted_.push_back({claim.trial, error.message()});
    }
    CrashPoint("after_prepare");
  }

  void Release(TrialNumber number, double now) {
    runner_.Release(number);
    TrialRecord& trial = table_.at(number);
    trial.state = TrialState::kRunning;
    trial.started = now;
    trial.ended.reset();
    CrashPoint("after_release");
    observer_.AttemptStarted(trial);
  }

  EnsembleSummary Summarise() const {
    EnsembleSummary summary;
    summary.complete = table_.Count(TrialState::kComplete);
    summary.failed = table_.Count(TrialState::kFailed);
    summary.pruned = table_.Count(TrialState::kPruned);
    summary.waiting = table_.Count(TrialState::kQueued) + table_.Count(TrialState::kPaused);
    if (const TrialRecord* best = table_.Best(options_.goal)) summary.best = *best;
    summary.interrupted = interrupted_;
    summary.too_many_failures = too_many_failures_;
    summary.exhausted = exhausted_;
    return summary;
  }

  TrialBook& book_;
  const EnsembleOptions& options_;
  TrialRunner& runner_;
  EnsembleObserver& observer_;
  Clock& clock_;
  const std::string host_ = HostName();

  std::unique_ptr<Sampler> sampler_;
  TrialTable table_;
  std::set<TrialNumber> queued_;
  std::map<TrialNumber, Attempt> running_;
  std::vector<Unstarted> unstarted_;
  std::optional<TrialNumber> best_;
  int failed_ = 0;
  bool stopping_ = false;
  bool interrupted_ = false;
  bool too_many_failures_ = false;
  bool exhausted_ = false;
};

}  // namespace

EnsembleSummary RunEnsemble(TrialBook& book, const EnsembleOptions& options, TrialRunner& runner,
                            EnsembleObserver& observer, Clock& clock) {
  return Manager(book, options, runner, observer, clock).Run();
}

}  // namespace slipway::ensemble
