/// Bayesian optimisation: proposes the place with the largest expected improvement of a Gaussian process.
#pragma once

#include <optional>

#include "ensemble/search/gaussian_process/acquisition_search.h"
#include "ensemble/search/gaussian_process/kernel_schedule.h"
#include "ensemble/search/numbers/sobol.h"
#include "ensemble/search/proposer.h"
#include "ensemble/search/steps.h"
#include "ensemble/search/trust_region.h"

namespace slipway::ensemble {

/// Starts with scrambled Sobol points. Then the kinds of steps take turns (steps.h):
///   - Everywhere: with a model of the values, or of their logarithms.
///   - In a trust region around the best point: with the model of the logarithms (kRegion), or with a model of the
///     nearest results alone (kNearby). The latter is scaled to these results, so it converges to any precision. They
///     alone determine its smoothness and its scale (nearby_model.h).
///
/// Pending trials count with their expected values (Ginsbourger, Le Riche, Carraro 2010, "kriging believer"). Local
/// steps start from the pending trial with the lowest expected value, if it is better than the centre. Failed trials
/// count as if they were in the worse quarter.
///
/// Cost: 25 to 40 ms of CPU at 200 results of 10 axes. Several times that if the kernel of all results is fitted; up to
/// twice that if a neighbourhood promises almost no improvement. At most 400 results are used.
class GpProposer : public Proposer {
 public:
  GpProposer(const Encoding& encoding, std::uint64_t seed);
  Coordinates Propose(const Observations& known, TrialNumber trial, std::uint32_t attempt) override;

  /// The number of first trials, which fill the space without a model.
  TrialNumber design() const { return design_; }

 private:
  struct Step;
  struct Model;
  Coordinates Filling(TrialNumber trial, std::uint32_t attempt) const;
  const std::vector<Promise>& Rank(const Observations& known, TrialNumber trial);
  std::vector<Promise> RankNearby(const Observations& known, const Step& step, Draws& draws);
  Step PlanStep(const Observations& known, TrialNumber trial) const;
  Model Learn(const Observations& known, const Step& step);
  /// Learns from the `count` results nearest to the region's centre.
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
  std::vector<Promise> ranked_;  // of the last trial; further attempts take the next ones
  std::optional<std::uint64_t> ranked_of_;
};

}  // namespace slipway::ensemble
