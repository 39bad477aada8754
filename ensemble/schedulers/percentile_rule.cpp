#include "ensemble/schedulers/percentile_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ensemble/schedulers/curve.h"

namespace slipway::ensemble {

double Percentile(const std::vector<double>& ascending, double percentile) {
  const double place = percentile / 100 * static_cast<double>(ascending.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const double part = place - static_cast<double>(below);
  // The difference of infinities is NaN.
  if (part == 0 || std::isinf(ascending[below])) return ascending[below];
  return ascending[below] + part * (ascending[below + 1] - ascending[below]);
}

PercentileRule::PercentileRule(const SchedulerSettings& settings, double percentile)
    : settings_(settings), percentile_(percentile), checks_(settings.min, settings.interval) {}

void PercentileRule::Learn(const Report& report) { curves_[report.trial].Add(report.resource, report.value); }

Judgement PercentileRule::Take(const Report& report) {
  Curve& curve = curves_[report.trial];
  if (!curve.Add(report.resource, report.value)) return {};
  const auto check = checks_.PassedAt(curve, curve.marks().size() - 1);
  if (!check) return {};
  const auto averages = averages_.find(*check);
  if (averages == averages_.end() || std::ssize(averages->second) < settings_.startup) return {};
  return Judge(curve, averages->second);
}

Judgement PercentileRule::Judge(const Curve& curve, const std::vector<double>& averages) const {
  const double limit = Percentile(averages, percentile_);
  if (!(curve.best() > limit)) return {};
  return {Decision::kStop,
          fmt::format("at {:.6g}: its best, {}, is worse than {}, the {} of what {} complete trials had on average",
                      curve.marks().back().resource, DescribeValue(curve.best(), settings_.goal),
                      DescribeValue(limit, settings_.goal),
                      percentile_ == 50 ? "median" : fmt::format("{:.6g}th percentile", percentile_), averages.size()),
          std::nullopt};
}

void PercentileRule::End(TrialNumber trial, TrialState state) {
  if (state == TrialState::kComplete) AddAverages(curves_[trial]);
  if (state == TrialState::kComplete || state == TrialState::kPruned) curves_.Release(trial);
}

void PercentileRule::AddAverages(const Curve& curve) {
  double sum = 0;
  for (std::size_t i = 0; i < curve.marks().size(); ++i) {
    sum += curve.marks()[i].value;
    const auto check = checks_.PassedAt(curve, i);
    if (!check) continue;
    const double average = sum / static_cast<double>(i + 1);
    auto& averages = averages_[*check];
    averages.insert(std::ranges::upper_bound(averages, average), average);
  }
}

}  // namespace slipway::ensemble
