/// CMA-ES as a search method: trials may be proposed, and may end, in any order.
#pragma once

#include <deque>
#include <optional>

#include "ensemble/search/cube/activity.h"
#include "ensemble/search/evolution/covariance_adaptation.h"
#include "ensemble/search/proposer.h"

namespace slipway::ensemble {

/// The complete trials, in the order of their numbers, are cut into generations. Each generation moves the distribution
/// of the next trials. Pending trials take part when they end; failed ones never do.
/// - Ordered axes: a trial shows only the part of the axis in which the drawn number lay. A number is drawn again from
///   that part of the distribution. A margin keeps the neighbouring parts within reach.
/// - Categorical axes have a probability for each value. It follows the better half of each generation.
/// - Inactive axes get a number drawn from the distribution itself, so they do not change it.
/// - When a run has converged, the next one begins at a random place (BIPOP). There are two kinds of runs: one with
///   twice the population of the last such run, and one with a small population and small steps. The kind that has used
///   fewer trials so far is next.
///
/// Cost:   of an ask, d^2 and the generations that are new; after a restart of the program, all generations once
///         (10,000 trials of 10 axes: about 50 ms).
/// Source: covariance_adaptation.h; Hansen: "Benchmarking a BI-population CMA-ES", GECCO 2009.
class CmaesProposer : public Proposer {
 public:
  /// `encoding` must outlive the proposer.
  CmaesProposer(const Encoding& encoding, std::uint64_t seed);
  Coordinates Propose(const Observations& known, TrialNumber trial, std::uint32_t attempt) override;

 private:
  /// The state after a generation.
  struct State {
    std::optional<CovarianceAdaptation> numbers;  // over numeric_; none where all axes are categorical
    std::vector<std::vector<double>> chances;     // of each value of categorical_
    std::size_t population = 0;
    std::size_t largest = 0;     // population of the last run of the large kind
    bool large = true;           // the kind of this run
    std::size_t used_large = 0;  // trials
    std::size_t used_small = 0;
    std::vector<double> bests;  // of each generation of this run
    int run = 0;
    std::size_t taken = 0;  // complete trials
    TrialNumber last = -1;  // the last of them
  };
  using Generation = std::vector<const Observation*>;

  const State& Replayed(const std::vector<Observation>& complete);
  State First() const;
  void Begin(State& state) const;
  void BeginNext(State& state) const;
  void Learn(State& state, std::span<const Observation> observations) const;
  void LearnNumbers(State& state, const Generation& ranked) const;
  void LearnChances(State& state, const Generation& ranked) const;
  std::vector<double> Numbers(const State& state, const Observation& observation) const;
  bool HasConverged(const State& state, const Generation& ranked) const;

  const Encoding& encoding_;
  std::uint64_t seed_;
  std::vector<std::size_t> numeric_;      // axes
  std::vector<std::size_t> categorical_;  // axes
  std::deque<State> states_;              // of the latest generations; a trial that ends late makes some void
};

}  // namespace slipway::ensemble
