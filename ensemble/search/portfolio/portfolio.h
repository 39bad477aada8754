/// The search method for any space: gives each trial to one of several methods, most to those that lately improved.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "ensemble/search/proposer.h"

namespace slipway::ensemble {

/// Which methods take part, and with which share of the trials they begin.
enum class PortfolioKind { kNumbers, kMixed, kCategories, kObjectives };

/// The first trials fill the space (gp's beginning). From then on each method has a share of the trials: half of the
/// share it begins with for ever, the rest by what its latest trials, about twenty of all back, gained per trial. All
/// methods learn from all trials. Where trials are open, gp begins with more of a space of numbers: it alone knows what
/// to expect of them, and steps down a valley cannot be made side by side.
///
/// Gain: a trial that is better than all of lower numbers gains g / (g + usual), `usual` being about the latest mean of
/// such steps g; no unit and no optimum has to be known, and the tiny steps of a search that has converged count for
/// little beside what others still find. With several objectives there is no such step, and the shares stay as they
/// begin: NSGA-II leads, and the others follow weighted sums of the objectives (objective_weights.h).
///
/// Why credit needs the trial's origin, and no more: trials end in any order and the rows do not say which of them an
/// ask knew, so whom it was given to cannot be computed again; it is kept with the trial. Gains are counted in the
/// order of the trials' numbers, whoever ended first. A trial that ends late so changes what was credited after it, but
/// the same rows always give the same shares, after a restart, too. Trials without a value are not counted. Which
/// trials are a method's is told by an even sequence over the trial's number, so parallel asks go to different methods
/// without knowing of each other.
///
/// Cost:   of an ask, n, and what the chosen method costs.
/// Source: adaptive pursuit with credit from a window: Fialho, Da Costa, Schoenauer, Sebag: "Analyzing bandit-based
/// adaptive operator selection mechanisms", Annals of Mathematics and Artificial Intelligence 60, 2010.
class Portfolio : public Proposer {
 public:
  /// `encoding` must outlive the portfolio.
  Portfolio(const Encoding& encoding, std::uint64_t seed);

  Coordinates Propose(const Observations& known, TrialNumber trial, std::uint32_t attempt) override;
  /// The name of the method, as a sampler of its own has it.
  std::string_view Origin() const override { return members_[chosen_].name; }

  struct Share {
    std::string_view method;
    double part;  ///< of the next trials; all parts add up to 1
  };
  /// Each method once, in a fixed order.
  std::vector<Share> Shares(const Observations& known) const;
  /// How many trials only fill the space.
  TrialNumber design() const { return design_; }

 private:
  struct Member {
    std::string_view name;
    std::unique_ptr<Proposer> proposer;
  };
  PortfolioKind KindOf(const Observations& known) const;
  std::size_t Choose(const Observations& known, TrialNumber trial) const;

  PortfolioKind kind_;  // with one objective
  std::uint64_t seed_;
  TrialNumber design_;
  std::vector<Member> members_;
  std::size_t chosen_ = 0;
};

}  // namespace slipway::ensemble
