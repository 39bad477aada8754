/// The schedulers `median` and `percentile`: ends trials that stay behind complete ones.
#pragma once

#include <map>
#include <vector>

#include "ensemble/schedulers/checks.h"
#include "ensemble/schedulers/scheduler.h"

namespace slipway::ensemble {

/// Number at `percentile` (0 to 100) of ascending values, interpolated between neighbours; at least one value.
double Percentile(const std::vector<double>& ascending, double percentile);

/// At a check, a trial ends whose best value so far is worse than the percentile of the averages that complete trials
/// had of all their values up to this check. It acts only where `startup` complete trials passed the same check.
///
/// Cost:   a report O(log checks); a complete trial, for each of its checks, a sorted insert among n numbers. Memory 16
///         bytes for each report of trials that go on, 8 for each check of complete ones.
/// Source: Golovin, Solnik, Moitra, Kochanski, Karro, Sculley: "Google Vizier", KDD 2017, section 3.2.
class PercentileRule : public Scheduler {
 public:
  PercentileRule(const SchedulerSettings& settings, double percentile);

  void Learn(const Report& report) override;
  Judgement Take(const Report& report) override;
  void End(TrialNumber trial, TrialState state) override;

 private:
  Judgement Judge(const Curve& curve, const std::vector<double>& averages) const;
  void AddAverages(const Curve& curve);

  SchedulerSettings settings_;
  double percentile_;
  Checks checks_;
  Curves curves_;
  std::map<double, std::vector<double>> averages_;  // by check; ascending
};

}  // namespace slipway::ensemble
