/// Genetic searches: with islands (demes), and for several objectives (NSGA-II).
#pragma once

#include <cstdint>
#include <vector>

#include "ensemble/search/numbers/draws.h"
#include "ensemble/search/proposer.h"

namespace slipway::ensemble {

struct GeneticSettings {
  std::size_t most_demes = 4;
  std::size_t trials_per_deme = 150;  ///< one more deme for each multiple of this number of complete trials
  std::size_t population = 10;        ///< of a deme
  std::size_t tournament = 3;         ///< a parent is the best of this number
  double migration = 0.1;             ///< the part of children with a father from the next deme
};

/// Trial n belongs to deme n mod (number of demes). The population of a deme is the best of its complete trials. A
/// child joins it as soon as it ends, so no trial waits for a generation.
/// A search with few trials has one deme. A longer one has several, so different solutions survive; migration in a ring
/// spreads the better ones slowly.
///
/// Cost:   of an ask, n.
/// Source: Whitley, Rana, Heckendorn: "The island model genetic algorithm", CIT 7, 1999; variation.h.
class GeneticProposer : public Proposer {
 public:
  /// `encoding` must outlive the proposer.
  GeneticProposer(const Encoding& encoding, std::uint64_t seed, GeneticSettings settings = {});
  Coordinates Propose(const Observations& known, TrialNumber trial, std::uint32_t attempt) override;

 private:
  using Population = std::vector<const Observation*>;
  std::size_t CountDemes(const Observations& known) const;
  Population PopulationOf(const Observations& known, std::size_t deme) const;
  const Coordinates& Parent(const Population& population, Draws& draws) const;

  const Encoding& encoding_;
  std::uint64_t seed_;
  GeneticSettings settings_;
};

struct Nsga2Settings {
  std::size_t population = 24;
};

/// NSGA-II. The complete trials, in the order of their numbers, join the population in blocks of its size. After each
/// block the best by front and crowding distance stay. Trials of an unfinished block count at once, so no trial waits
/// for a generation. Parents win binary tournaments. With one objective it is a plain genetic search.
/// Trials with fewer objectives than others are ignored.
///
/// Cost:   of an ask, 4 n x population x objectives comparisons.
/// Source: pareto.h; variation.h.
class Nsga2Proposer : public Proposer {
 public:
  /// `encoding` must outlive the proposer.
  Nsga2Proposer(const Encoding& encoding, std::uint64_t seed, Nsga2Settings settings = {});
  Coordinates Propose(const Observations& known, TrialNumber trial, std::uint32_t attempt) override;

  /// The population, best first.
  std::vector<const Observation*> Population(const std::vector<Observation>& complete) const;

 private:
  const Encoding& encoding_;
  std::uint64_t seed_;
  Nsga2Settings settings_;
};

}  // namespace slipway::ensemble
