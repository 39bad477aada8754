/// A search method for any space. It gives each trial to one of several methods, mostly to those with recent gains.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "ensemble/search/proposer.h"

namespace slipway::ensemble {

/// The kind of space: it determines the methods and their initial shares of the trials.
enum class PortfolioKind { kNumbers, kMixed, kCategories, kObjectives };

/// The first trials fill the space, as gp does it. Then each method has a share of the trials. Half of its initial
/// share is fixed. The rest depends on the gain per trial of its trials among about the latest twenty.
/// All methods learn from all trials. In a space of numbers, gp begins with a larger share while trials are open. Only
/// gp predicts their results; steps of other methods down a valley need the result of the step before.
///
/// Gain: a trial that is better than all trials with lower numbers, by g, gains g / (g + usual). `usual` is about the
/// recent mean of such steps g. So neither unit nor optimum has to be known, and the tiny steps of a converged search
/// count little. With several objectives there are no gains, and the shares stay as they begin: NSGA-II leads, and the
/// others follow scalarised objectives (objective_weights.h).
///
/// Credit needs the origin of each trial. Trials end in any order, and the rows do not show which results a proposal
/// knew. So the method of a trial cannot be computed again: it is stored as the trial's origin.
/// Gains are counted in the order of the trials' numbers, not of their ends. A trial that ends late changes the gains
/// after it, but the same rows always give the same shares, also after a restart. Trials without a value do not count.
/// An even sequence over the trials' numbers assigns trials to methods, so parallel asks go to different methods.
///
/// Cost:   of an ask, n, and the cost of the chosen method.
/// Source: adaptive pursuit with credit from a window: Fialho, Da Costa, Schoenauer, Sebag: "Analyzing bandit-based
///         adaptive operator selection mechanisms", Annals of Mathematics and Artificial Intelligence 60, 2010.
class Portfolio : public Proposer {
 public:
  /// `encoding` must outlive the portfolio.
  Portfolio(const Encoding& encoding, std::uint64_t seed);

  Coordinates Propose(const Observations& known, TrialNumber trial, std::uint32_t attempt) override;
  /// The name of the method, as the name of its own sampler.
  std::string_view Origin() const override { return members_[chosen_].name; }

  struct Share {
    std::string_view method;
    double part;  ///< of the next trials; all parts add up to 1
  };
  /// Each method once, in a fixed order.
  std::vector<Share> Shares(const Observations& known) const;
  /// The number of first trials, which only fill the space.
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
