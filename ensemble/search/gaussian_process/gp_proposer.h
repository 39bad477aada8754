/// Bayesian optimisation: the next trial is where a Gaussian process promises the largest improvement.
#pragma once

#include <optional>

#include "ensemble/search/gaussian_process/acquisition_search.h"
#include "ensemble/search/gaussian_process/kernel_schedule.h"
#include "ensemble/search/numbers/sobol.h"
#include "ensemble/search/proposer.h"
#include "ensemble/search/steps.h"
#include "ensemble/search/trust_region.h"

namespace slipway::ensemble {

/// Starts with scrambled Sobol points. Then the kinds of step take turns (steps.h): some search everywhere, with a
/// model of the values or one of their logarithms; the others in a trust region around the best point, with the latter
/// model or one of the nearest results alone, which is scaled to them and so converges to any precision; these alone
/// decide how smooth it is and on which scale (nearby_model.h). What one of these does not see, another may.
///
/// Pending trials count as if they had given what is expected of them (Ginsbourger, Le Riche, Carraro 2010, "kriging
/// believer"), and local steps go on from where one of them is expected to arrive; failed trials count as if they were
/// among the worse quarter.
///
/// Cost: at 200 results of 10 axes 25 to 40 ms of CPU, several times that where the kernel of all results is fitted and
/// up to twice that where a neighbourhood promises next to nothing. More than 400 results are thinned out.
class GpProposer : public Proposer {
 public:
  GpProposer(const Encoding& encoding, std::uint64_t seed);
  Coordinates Propose(const Observations& known, TrialNumber trial, std::uint32_t attempt) override;

  /// How many trials fill the space before the model is asked.
  TrialNumber design() const { return design_; }

 private:
  struct Step;
  struct Model;
  Coordinates Filling(TrialNumber trial, std::uint32_t attempt) const;
  const std::vector<Promise>& Rank(const Observations& known, TrialNumber trial);
  std::vector<Promise> RankNearby(const Observations& known, const Step& step, Draws& draws);
  Step PlanStep(const Observations& known, TrialNumber trial) const;
  Model Learn(const Observations& known, const Step& step);
  /// From the `count` results nearest to the region's centre.
  Model LearnNearby(const Observations& known, const Step& step, std::size_t count);
  Interactions InteractionsEverywhere(const Observations& known);
  AcquisitionTask TaskOf(const Model& model, const Observations& known, const Step& step) const;

  const Encoding& encoding_;
  std::uint64_t seed_;
  TrialNumber design_;
  FeatureMap map_;
  AcquisitionSearch search_;
  ScrambledSobol points_;
  KernelSchedule clipped_{map_, OutputScale::kClipped};
  KernelSchedule log_{map_, OutputScale::kLog};
  std::vector<Promise> ranked_;  // of the last trial: further attempts take the next ones
  std::optional<std::uint64_t> ranked_of_;
};

}  // namespace slipway::ensemble
