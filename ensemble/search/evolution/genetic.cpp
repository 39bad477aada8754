#include "ensemble/search/evolution/genetic.h"

#include <algorithm>

#include "ensemble/search/evolution/variation.h"

namespace slipway::ensemble {

GeneticProposer::GeneticProposer(const Encoding& encoding, std::uint64_t seed, GeneticSettings settings)
    : encoding_(encoding), seed_(seed), settings_(settings) {}

std::size_t GeneticProposer::CountDemes(const Observations& known) const {
  return std::min(settings_.most_demes, 1 + known.complete.size() / settings_.trials_per_deme);
}

/// Best first. A deme of which nothing is known yet borrows from all.
GeneticProposer::Population GeneticProposer::PopulationOf(const Observations& known, std::size_t deme) const {
  Population population;
  const std::size_t demes = CountDemes(known);
  for (const auto& observation : known.complete) {
    if (static_cast<std::size_t>(observation.trial) % demes == deme) population.push_back(&observation);
  }
  if (population.empty()) {
    for (const auto& observation : known.complete) population.push_back(&observation);
  }
  const auto end = population.begin() + static_cast<std::ptrdiff_t>(std::min(settings_.population, population.size()));
  std::ranges::partial_sort(population, end, [](const auto* left, const auto* right) {
    return std::pair(left->value, left->trial) < std::pair(right->value, right->trial);
  });
  population.erase(end, population.end());
  return population;
}

const Coordinates& GeneticProposer::Parent(const Population& population, Draws& draws) const {
  std::size_t chosen = draws.Below(population.size());
  for (std::size_t i = 1; i < settings_.tournament; ++i) chosen = std::min(chosen, draws.Below(population.size()));
  return population[chosen]->at;
}

Coordinates GeneticProposer::Propose(const Observations& known, TrialNumber trial, std::uint32_t attempt) {
  Draws draws(seed_, trial, "genetic", attempt);
  const std::size_t demes = CountDemes(known);
  const std::size_t deme = static_cast<std::size_t>(trial) % demes;
  const auto own = PopulationOf(known, deme);
  const bool migrates = draws.Unit() < settings_.migration;
  const auto& mother = Parent(own, draws);
  const auto& father = Parent(migrates ? PopulationOf(known, (deme + 1) % demes) : own, draws);
  auto child = Cross(encoding_, mother, father, draws);
  Mutate(encoding_, child, draws);
  return child;
}

}  // namespace slipway::ensemble
