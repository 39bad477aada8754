/// The schedulers `median` and `percentile`: they end trials that are worse than complete ones.
#pragma once

#include <map>
#include <vector>

#include "ensemble/schedulers/curve.h"
#include "ensemble/schedulers/scheduler.h"

namespace slipway::ensemble {

/// The number at `percentile` (0 to 100) of ascending values, interpolated between neighbours. Needs at least one
/// value.
double Percentile(const std::vector<double>& ascending, double percentile);

/// At a check, a trial ends if its best value so far is worse than a percentile of averages of complete trials. The
/// average of a complete trial is that of its values up to the same check. The rule applies to checks that at least
/// `startup` complete trials have passed.
///
/// Cost:   a report O(log checks); a complete trial, for each of its checks, a sorted insert among n numbers. Memory 16
///         bytes for each report of unfinished trials, 8 for each check of complete ones.
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
