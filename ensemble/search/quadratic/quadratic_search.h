/// Search by quadratic models in a trust region, for functions that are locally quadratic.
#pragma once

#include <cstdint>
#include <vector>

#include "ensemble/search/numbers/sobol.h"
#include "ensemble/search/proposer.h"
#include "ensemble/search/quadratic/quadratic_model.h"

namespace slipway::ensemble {

/// Learns from all trials, whatever method proposed them.
///
/// The first points are Sobol points, two more than axes. Then most trials step to the minimum, within a trust region,
/// of a quadratic model of the points around the best one. Each sixteenth trial is a wide step: it goes where the
/// lowest value is possible, given the steepness of the function so far.
/// The radius is replayed from the rows. It shrinks after a point that is much worse than the model, but only if the
/// model knew enough points nearby (1.5 for each axis). It doubles after a point that agrees with the model.
/// If an open trial lies at the step already, the next ones take steps with the radii that its result may lead to.
/// After these they take places around the step, which improve the next model.
/// Continuous and ordered axes are searched. Categories, and so conditions, are those of the best trial. Only half of
/// the wide steps draw them.
///
/// Result: a pure function of (seed, observations, trial, attempt), also with parallel asks and after restarts.
/// Cost:   at worst O(n (m + d)^3) for d axes. A model has m = min(n, (d + 1)(d + 2) / 2, max(100, 2 d + 1)) points.
///         The replay is kept between asks as far as the rows are the same.
/// Source: alternation and model after King's global_function_search (dlib), with a state that follows from the rows;
///         Malherbe, Vayatis: "Global optimization of Lipschitz functions", 2017; Powell 2004.
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
  /// The trust region after the first `taken` trials of the slice.
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
