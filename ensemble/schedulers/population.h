/// The scheduler `pbt`: a population that trains together; weak trials are replaced by varied copies of strong ones.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "ensemble/schedulers/curve.h"
#include "ensemble/schedulers/scheduler.h"

namespace slipway::ensemble {

int PopulationSize(const SchedulerSettings& settings);

/// The first trials come from the sampler. After each further `interval` of its own a trial is compared with the living
/// ones, each by its last value up to the same resource (or its first one, if it began further on). One among the worst
/// `quantile` ends when it is worse than all of the best `quantile`; the next new trial descends from one of those,
/// by its newest checkpoint and with parameters from Explore (explore.h). A failed or cancelled trial is replaced, too.
/// One that was to be replaced goes on when there is nobody left to descend from once it has ended.
/// With half of the population at its end, or the budget of trials used up, nobody is replaced any more; nor when, as
/// far as `max` tells, the trial itself or each of the best has at most one `interval` before it: a parent would be at
/// its end before its copy has begun. Nobody descends from a trial at its end.
///
/// Cost:   a report O(1); at a check, log n and a sort of the population.
/// Source: Jaderberg et al.: "Population based training of neural networks", arXiv:1711.09846, 2017 (truncation
///         selection, section 4).
class Population : public Scheduler {
 public:
  explicit Population(const SchedulerSettings& settings);

  void Learn(const Report& report) override;
  Judgement Take(const Report& report) override;
  void Tell(TrialNumber trial, Decision decision) override;
  void End(TrialNumber trial, TrialState state) override;
  bool MayBegin(TrialNumber trial) const override;
  bool MayEnd(TrialNumber trial) const override;
  std::optional<Descent> Descend(TrialNumber trial) const override;

 private:
  using Standing = std::pair<double, TrialNumber>;

  bool IsAtCheck(TrialNumber trial, const Curve& curve) const;
  Judgement Judge(TrialNumber trial, double resource);
  bool HasParentFor(TrialNumber trial) const;
  /// The living trials by their values at `resource`, best first.
  std::vector<Standing> StandingsAt(double resource) const;
  std::size_t CountOfQuantile(std::size_t living) const;
  bool EndsWithin(TrialNumber trial, double resource) const;
  bool HasBudget() const { return size_ + std::ssize(replaceable_) < settings_.trials; }

  SchedulerSettings settings_;
  std::int64_t size_;
  std::map<TrialNumber, Curve> living_;   // those that have reported and are not final
  std::map<TrialNumber, Curve> leaving_;  // those that make room and have not ended
  std::set<TrialNumber> replaceable_;     // pruned, failed or cancelled
  bool has_complete_ = false;
};

}  // namespace slipway::ensemble
