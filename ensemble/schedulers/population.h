/// The scheduler `pbt`: trials train as a population; weak ones are replaced by varied copies of strong ones.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "ensemble/schedulers/curve.h"
#include "ensemble/schedulers/scheduler.h"

namespace slipway::ensemble {

int PopulationSize(const SchedulerSettings& settings);

/// The first trials come from the sampler. A trial is *living* from its first report until it is final or asked to
/// stop. At each further `interval` of its own, a trial is compared with all living trials. The value of each is its
/// last one up to the same resource, or its first one if it began later.
/// A trial among the worst `quantile` ends if it is worse than all of the best `quantile`. The next new trial descends
/// from one of the best: from its newest checkpoint, with parameters from Explore (explore.h). Failed and cancelled
/// trials are replaced, too. A trial at its end is never a parent.
/// No trial is replaced when:
///   - at most half of the population is living, or the budget of trials is used up;
///   - the trial itself has at most one `interval` left before `max`, as far as that is known;
///   - each of the best has at most one `interval` left: a parent would be complete before its copy begins.
/// A trial that was asked to stop goes on if no parent is left when it has ended.
/// Imported trials take no place in the population, whatever their numbers are.
///
/// Cost:   a report O(1); at a check, log n and a sort of the population.
/// Source: Jaderberg et al.: "Population based training of neural networks", arXiv:1711.09846, 2017 (truncation
///         selection, section 4).
class Population : public Scheduler {
 public:
  explicit Population(const SchedulerSettings& settings);

  void Imported(TrialNumber trial) override;
  void Learn(const Report& report) override;
  Judgement Take(const Report& report) override;
  void Tell(TrialNumber trial, Decision decision) override;
  void End(TrialNumber trial, TrialState state) override;
  bool MayBegin(TrialNumber trial) const override;
  bool MayEnd(TrialNumber trial) const override;
  std::optional<Descent> Descend(TrialNumber trial) const override;

 private:
  using Standing = std::pair<double, TrialNumber>;

  bool IsImported(TrialNumber trial) const;
  std::int64_t PlaceOf(TrialNumber trial) const;
  bool IsFirst(TrialNumber trial) const;
  void LeavePlace(TrialNumber trial);
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
  std::map<TrialNumber, Curve> living_;   // have reported and are not final
  std::map<TrialNumber, Curve> leaving_;  // asked to stop, not ended yet
  std::set<TrialNumber> replaceable_;     // pruned, failed or cancelled
  std::vector<TrialNumber> imported_;     // ascending
  bool has_complete_ = false;
};

}  // namespace slipway::ensemble
