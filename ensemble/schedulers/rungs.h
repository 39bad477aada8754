/// The rungs of one bracket: who entered them with which value, and who may go on. The book-keeping of asha.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "ensemble/model/trial_runner.h"

namespace slipway::ensemble {

/// The resources at which trials are compared, ascending: min, min * reduction, min * reduction^2, ... and, where
/// given, `max` as the last. A rung so near to max that less than the root of `reduction` lies between is left out.
/// Without a max they end at 1e18.
std::vector<double> RungResources(double min, std::optional<double> max, int reduction);

class Rungs {
 public:
  Rungs(std::span<const double> resources, int reduction);

  std::size_t size() const { return rungs_.size(); }
  double resource(std::size_t rung) const { return rungs_[rung].resource; }
  /// Nobody waits at the last rung: it is the end of a trial.
  bool IsLast(std::size_t rung) const { return rung + 1 == rungs_.size(); }
  /// How many rungs a trial has entered that came to `resource`.
  std::size_t CountUpTo(double resource) const;

  /// One trial more has entered the rung, for good. It stands there with its value once it is placed.
  void CountEntry(std::size_t rung) { ++rungs_[rung].entries; }
  std::size_t entries(std::size_t rung) const { return rungs_[rung].entries; }
  /// How many of those may go on: one in `reduction`.
  std::size_t places(std::size_t rung) const { return rungs_[rung].entries / reduction_; }
  /// How many placed trials have gone on.
  std::size_t gone_on(std::size_t rung) const { return rungs_[rung].gone_on; }

  /// Cost: a sorted insert or erase among the trials of the rung. The arguments of Remove are those of Place.
  void Place(std::size_t rung, TrialNumber trial, double value, bool goes_on);
  void Remove(std::size_t rung, TrialNumber trial, double value, bool goes_on);
  /// How many placed trials are better; among equals the earlier trial is.
  std::size_t RankOf(std::size_t rung, TrialNumber trial, double value) const;

  using Standing = std::pair<double, TrialNumber>;
  /// The placed trials, best first.
  const std::vector<Standing>& standings(std::size_t rung) const { return rungs_[rung].standings; }

 private:
  struct Rung {
    double resource = 0;
    std::size_t entries = 0;
    std::size_t gone_on = 0;
    std::vector<Standing> standings;
  };
  std::vector<Rung> rungs_;
  std::size_t reduction_;
};

}  // namespace slipway::ensemble
