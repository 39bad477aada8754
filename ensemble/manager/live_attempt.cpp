#include "ensemble/manager/live_attempt.h"

#include <algorithm>
#include <cmath>

#include "core/units.h"

namespace slipway::ensemble {

void History::Take(std::int64_t step, double value, double elapsed) {
  if (!attempt_has_reported_) entries_.erase(entries_.lower_bound(step), entries_.end());
  attempt_has_reported_ = true;
  entries_[step] = {value, elapsed};
}

std::optional<double> History::Value() const {
  if (objective_.reach) return TimeToReach();
  if (objective_.counts == CountedValue::kBest) return BestReported();
  if (entries_.empty()) return std::nullopt;
  return entries_.rbegin()->second.value;
}

std::optional<double> History::BestReported() const {
  std::optional<double> best;
  for (const auto& [step, entry] : entries_) {
    if (!best || std::isnan(*best) || IsBetter(entry.value, *best, objective_.goal)) best = entry.value;
  }
  return best;
}

std::optional<double> History::TimeToReach() const {
  std::optional<double> least;
  for (const auto& [step, entry] : entries_) {
    const bool reached = entry.value == *objective_.reach || IsBetter(entry.value, *objective_.reach, objective_.goal);
    if (reached) least = std::min(least.value_or(entry.elapsed), entry.elapsed);
  }
  return least;
}

namespace {

double SecondsBetween(double begin, double end) { return std::max(0.0, end - begin); }

bool IsFinite(const std::optional<double>& value) { return value && std::isfinite(*value); }

}  // namespace

LiveAttempt::LiveAttempt(const std::vector<Objective>& objectives, int number)
    : number_(number), objectives_(objectives), histories_(objectives.begin(), objectives.end()) {}

LiveAttempt::LiveAttempt(TrialBook& book, TrialNumber trial, int number, const std::vector<Objective>& objectives)
    : LiveAttempt(objectives, number) {
  for (const auto& attempt : book.Attempts(trial)) {
    if (attempt.number < number) LearnEarlier(book, trial, attempt);
    if (attempt.number == number) {
      stop = attempt.stop;
      if (stop) stop_detail = attempt.reason;
      started_ = attempt.started.value_or(attempt.claimed);
      heard_of_ = started_;
      LearnReports(book, trial, attempt);
    }
  }
}

void LiveAttempt::LearnEarlier(TrialBook& book, TrialNumber trial, const AttemptRecord& attempt) {
  started_ = attempt.started.value_or(attempt.claimed);
  last_step_.reset();
  last_epoch_.reset();
  LearnReports(book, trial, attempt);
  furthest_step_before_ = std::max(furthest_step_before_, last_step_);
  epoch_before_ = std::exchange(last_epoch_, std::nullopt);
  furthest_epoch_before_ = std::max(furthest_epoch_before_, epoch_before_);
  if (attempt.started && attempt.ended) elapsed_before_ += SecondsBetween(*attempt.started, *attempt.ended);
  const bool ran_on_full_disk = attempt.outcome == Outcome::kDiskFull && attempt.status;
  if (attempt.outcome == Outcome::kNodeLost || ran_on_full_disk) ++losses_;
  start_failed_before_ = attempt.outcome == Outcome::kNotStarted;
  goes_on_ = attempt.state == TrialState::kPaused || attempt.state == TrialState::kCancelled;
  status_before_ = attempt.state == TrialState::kFailed ? attempt.status : std::nullopt;
  step_before_ = std::exchange(last_step_, std::nullopt);
  last_.clear();
  for (auto& history : histories_) history.BeginAttempt();
}

void LiveAttempt::LearnReports(TrialBook& book, TrialNumber trial, const AttemptRecord& attempt) {
  for (const auto& objective : objectives_) {
    for (const auto& metric : book.Metrics(trial, attempt.number, objective.metric)) Take(metric, started_);
  }
}

void LiveAttempt::Start(double now, SteadyTime steady) {
  started_ = now;
  heard_of_ = std::max(heard_of_, now);
  running_ = steady;
}

void LiveAttempt::Take(const MetricRecord& metric, double now) {
  last_[metric.name] = {metric.step, metric.value};
  heard_of_ = std::max(heard_of_, metric.time.value_or(now));
  const double elapsed = elapsed_before_ + SecondsBetween(started_, metric.time.value_or(now));
  for (std::size_t i = 0; i < objectives_.size(); ++i) {
    if (objectives_[i].metric != metric.name) continue;
    histories_[i].Take(metric.step, metric.value, elapsed);
    last_step_ = std::max(last_step_.value_or(metric.step), metric.step);
    last_epoch_ = std::max(last_epoch_, metric.epoch);
  }
}

double LiveAttempt::SecondsUp(SteadyTime now) const {
  return running_ ? std::chrono::duration<double>(now - *running_).count() : 0.0;
}

double LiveAttempt::Elapsed(SteadyTime now) const { return elapsed_before_ + SecondsUp(now); }

double LiveAttempt::SilentFor(double now) const { return SecondsBetween(heard_of_, now); }

void LiveAttempt::HeedTimeLimit(std::optional<double> limit, SteadyTime now) {
  if (stop || !limit || Elapsed(now) < *limit) return;
  stop = StopReason::kTrialTimeLimit;
  stop_detail = FormatDuration(Seconds(*limit));
}

std::optional<double> LiveAttempt::ValueAt(std::int64_t step, const std::string& metric) const {
  const auto found = last_.find(metric);
  if (found == last_.end() || found->second.first != step) return std::nullopt;
  return found->second.second;
}

std::vector<double> LiveAttempt::Further() const {
  std::vector<double> values;
  if (!MissingFurther().empty()) return values;
  for (std::size_t i = 1; i < histories_.size(); ++i) values.push_back(*ValueOf(i));
  return values;
}

std::optional<double> LiveAttempt::ValueOf(std::size_t objective) const {
  return told_.empty() ? histories_[objective].Value() : std::optional(told_.at(objective));
}

std::string LiveAttempt::MissingFurther() const {
  for (std::size_t i = 1; i < histories_.size(); ++i) {
    if (!IsFinite(ValueOf(i))) return objectives_[i].metric;
  }
  return {};
}

bool LiveAttempt::EpochsDecide(StepSource steps) const { return steps == StepSource::kCount && last_epoch_; }

bool LiveAttempt::HasMovedOn(StepSource steps) const {
  return last_epoch_ > furthest_epoch_before_ || (!EpochsDecide(steps) && last_step_ > furthest_step_before_);
}

bool LiveAttempt::CameAsFar(StepSource steps) const {
  return EpochsDecide(steps) ? last_epoch_ == epoch_before_ : last_step_ == step_before_;
}

AttemptFacts LiveAttempt::Facts(std::optional<ExitStatus> status, StepSource steps) const {
  AttemptFacts facts;
  facts.status = status;
  facts.has_begun = started();
  facts.stop = stop;
  facts.stop_detail = stop_detail;
  facts.objective = objectives_.front();
  // Reports of earlier attempts count only if this one goes on from them.
  if (history().AttemptHasReported() || goes_on_ || !told_.empty()) {
    facts.value = Value();
    facts.best_reported = history().BestReported();
  }
  facts.further_missing = MissingFurther();
  for (const auto& [name, value] : last_) facts.reported.push_back(name);
  facts.losses = losses_;
  facts.start_failed_before = start_failed_before_;
  facts.has_moved_on = HasMovedOn(steps);
  facts.as_before = status && status->code != 0 && status == status_before_ && CameAsFar(steps);
  return facts;
}

}  // namespace slipway::ensemble
