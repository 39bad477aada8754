/// Search by quadratic models in a trust region: unbeatable where a function is locally quadratic.
#pragma once

#include <cstdint>
#include <vector>

#include "ensemble/search/numbers/sobol.h"
#include "ensemble/search/proposer.h"
#include "ensemble/search/quadratic/quadratic_model.h"

namespace slipway::ensemble {

/// Proposes places from what is known, whoever proposed the trials that it is known from.
///
/// First Sobol points, two more than axes. Then most trials step to where a quadratic model of the points around the
/// best one is smallest within a trust region; each sixteenth goes where, as steep as the function has been, the lowest
/// value may lie. The radius is replayed from the rows: it shrinks after a point that disappoints the model, if the
/// model knew one and a half times as many points nearby as there are axes, and doubles after one that does not. Where
/// an open trial lies on the step already, the next ones take the radii that its result may lead to, and then places
/// around it, which make the next model better. Continuous and ordered axes are searched; categories, and with them
/// conditions, are those of the best trial, except in half of the wide steps, which draw them.
///
/// Result: a pure function of (seed, what is known, trial, attempt), parallel asks and restarts included.
/// Cost:   at worst O(n (m + d)^3) for d axes, m = min(n, (d + 1)(d + 2) / 2, max(100, 2 d + 1)) being the points of a
///         model; the replay is kept between asks as far as the rows are the same.
/// Source: the alternation and the model after King's global_function_search (dlib), whose own state could not be given
///         back by the rows; Malherbe, Vayatis: "Global optimization of Lipschitz functions", 2017; Powell 2004.
class QuadraticSearch : public Proposer {
 public:
  /// `encoding` must outlive the search.
  QuadraticSearch(const Encoding& encoding, std::uint64_t seed);

  Coordinates Propose(const Observations& known, TrialNumber trial, std::uint32_t attempt) override;

 private:
  using Place = std::vector<double>;  // of the axes that are searched

  /// The trials with the same categories and active parameters as the best one.
  struct Slice {
    Coordinates best;
    std::vector<std::size_t> axes;
    std::vector<TrialNumber> trials;
    std::vector<Place> places;
    std::vector<double> values;
  };
  /// After the first `taken` trials of the slice.
  struct Region {
    std::size_t taken = 0;
    std::size_t best = 0;  // index into the slice
    double radius = 0;     // 0: not set
  };

  Slice SliceOfBest(const Observations& known) const;
  Place PlaceIn(const Slice& slice, const Coordinates& at) const;
  void Replay(const Slice& slice);
  void Take(const Slice& slice, std::size_t next);
  void JudgeModel(const Slice& slice, std::size_t next);
  std::optional<QuadraticModel> ModelAround(const Slice& slice, const Region& region) const;
  double RadiusOfNeighbours(const Slice& slice, const Region& region) const;
  std::optional<Place> ModelStep(const Slice& slice, const std::vector<Place>& taken, TrialNumber trial) const;
  Place Near(Place place, double radius, TrialNumber trial, std::uint32_t attempt) const;
  Place LowestPossible(const Slice& slice, const std::vector<Place>& taken, TrialNumber trial) const;
  Coordinates Random(TrialNumber trial, std::uint32_t attempt) const;
  Coordinates AtPlace(const Slice& slice, const Place& place) const;

  const Encoding& encoding_;
  std::uint64_t seed_;
  ScrambledSobol design_;
  std::size_t first_model_;  // trials with values before the first model
  Region region_;
  std::vector<TrialNumber> replayed_;  // trials of the slice that region_ knows
  Coordinates replayed_best_;
};

}  // namespace slipway::ensemble
