#include "ensemble/manager/judge_reports.h"

#include <fmt/format.h>

#include <cmath>
#include <tuple>

namespace slipway::ensemble {
namespace {

SchedulerSettings SettingsOf(const EnsembleOptions& options) {
  SchedulerSettings settings = options.scheduler;
  settings.seed = options.seed;
  settings.trials = options.trials;
  settings.parallel = options.parallel;
  settings.goal = options.objectives.front().goal;
  return settings;
}

/// What a scheduler had decided about attempts that have not ended.
std::map<TrialNumber, Decision> ToldIn(const std::vector<AttemptRecord>& open) {
  std::map<TrialNumber, Decision> told;
  for (const auto& attempt : open) {
    if (attempt.stop == StopReason::kPruned) told[attempt.trial] = Decision::kStop;
    if (attempt.stop == StopReason::kPaused) told[attempt.trial] = Decision::kPause;
  }
  return told;
}

}  // namespace

ReportJudge::ReportJudge(const EnsembleOptions& options)
    : options_(options),
      scheduler_(MakeScheduler(SettingsOf(options))),
      counts_a_metric_(options.resource != "step" && options.resource != "epoch") {}

double ReportJudge::LowerIsBetter(double value) const {
  return options_.objectives.front().goal == Goal::kMinimize ? value : -value;
}

std::optional<double> ReportJudge::ResourceOf(const MetricRecord& metric, std::optional<double> other) const {
  if (counts_a_metric_) return other && std::isfinite(*other) ? other : std::nullopt;
  if (options_.resource == "epoch") return metric.epoch;
  return static_cast<double>(metric.step);
}

void ReportJudge::Restore(TrialBook& book, const TrialTable& trials) {
  if (options_.scheduler.type == "none") return;
  std::map<std::tuple<TrialNumber, std::int64_t, int>, double> other;
  if (counts_a_metric_) {
    book.ForEachMetric(options_.resource, [&](const MetricRecord& m) {
      other[{m.trial, m.step, m.attempt}] = m.value;
    });
  }
  std::map<std::pair<TrialNumber, double>, double> values;
  book.ForEachMetric(options_.objectives.front().metric, [&](const MetricRecord& metric) {
    const auto found = other.find({metric.trial, metric.step, metric.attempt});
    const auto resource = ResourceOf(metric, found == other.end() ? std::nullopt : std::optional(found->second));
    if (resource) values[{metric.trial, *resource}] = LowerIsBetter(metric.value);
  });
  std::vector<Report> reports;
  for (const auto& [at, value] : values) reports.push_back({at.first, at.second, value});
  has_heard_ = !reports.empty();
  scheduler_->Restore(reports, trials, ToldIn(book.OpenAttempts()));
}

void ReportJudge::Take(const MetricRecord& metric, const LiveAttempt& attempt, std::vector<RungRecord>& rungs) {
  const auto& objective = options_.objectives.front().metric;
  const bool tells = metric.name == objective || (counts_a_metric_ && metric.name == options_.resource);
  if (options_.scheduler.type == "none" || !tells) return;
  const auto value = attempt.ValueAt(metric.step, objective);
  const auto resource = ResourceOf(metric, attempt.ValueAt(metric.step, options_.resource));
  if (!resource || !value) return;
  has_heard_ = true;
  reached_[metric.trial] = *resource;
  const auto judgement = scheduler_->Take({metric.trial, *resource, LowerIsBetter(*value)});
  if (judgement.rung) {
    rungs.push_back({metric.trial, judgement.rung->bracket, judgement.rung->rung, judgement.rung->resource, *value,
                     std::string(WordOf(judgement.decision))});
  }
  if (judgement.decision == Decision::kContinue || attempt.stop) return;
  const auto stop = judgement.decision == Decision::kStop ? StopReason::kPruned : StopReason::kPaused;
  stop_requests_.try_emplace(metric.trial, StopRequest{stop, judgement.reason});
}

bool ReportJudge::IsWhole(TrialNumber trial) const {
  const auto reached = reached_.find(trial);
  return options_.scheduler.max && reached != reached_.end() && reached->second >= *options_.scheduler.max;
}

std::optional<std::string> ReportJudge::WhySilent(const LiveAttempt& attempt) const {
  const auto& type = options_.scheduler.type;
  const bool heeds_reports = type != "none" && type != "wilcoxon";  // that one compares whole trials
  if (!heeds_reports || has_heard_) return std::nullopt;
  auto names = attempt.Facts(std::nullopt).reported;
  if (attempt.HasReportedAnEpoch()) names.emplace_back("epoch");
  return fmt::format("a trial is complete and never reported '{}' with '{}', so scheduler {} ends no trial early{}",
                     options_.resource, options_.objectives.front().metric, type, ButReported(names));
}

std::optional<StopRequest> ReportJudge::StopRequestFor(TrialNumber trial) const {
  const auto found = stop_requests_.find(trial);
  if (found == stop_requests_.end()) return std::nullopt;
  return found->second;
}

void ReportJudge::End(TrialNumber trial, TrialState state) {
  stop_requests_.erase(trial);
  reached_.erase(trial);
  scheduler_->End(trial, state);
}

}  // namespace slipway::ensemble
