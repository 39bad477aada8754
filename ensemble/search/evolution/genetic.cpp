#include "ensemble/search/evolution/genetic.h"

#include <algorithm>

#include "ensemble/search/evolution/variation.h"
#include "ensemble/search/results/pareto.h"

namespace slipway::ensemble {

GeneticProposer::GeneticProposer(const Encoding& encoding, std::uint64_t seed, GeneticSettings settings)
    : encoding_(encoding), seed_(seed), settings_(settings) {}

std::size_t GeneticProposer::CountDemes(const Observations& known) const {
  return std::min(settings_.most_demes, 1 + known.complete.size() / settings_.trials_per_deme);
}

/// The population of a deme, best first. A deme without complete trials uses those of all demes.
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

namespace {

using Members = std::vector<const Observation*>;

Objectives ObjectivesOf(const Observation& observation) {
  Objectives objectives = {observation.value};
  objectives.insert(objectives.end(), observation.more.begin(), observation.more.end());
  return objectives;
}

Members Best(const Members& members, std::size_t count) {
  std::vector<Objectives> points;
  for (const auto* member : members) points.push_back(ObjectivesOf(*member));
  Members best;
  for (const auto i : SelectBest(points, count)) best.push_back(members[i]);
  return best;
}

}  // namespace

Nsga2Proposer::Nsga2Proposer(const Encoding& encoding, std::uint64_t seed, Nsga2Settings settings)
    : encoding_(encoding), seed_(seed), settings_(settings) {}

std::vector<const Observation*> Nsga2Proposer::Population(const std::vector<Observation>& complete) const {
  std::size_t objectives = 0;
  for (const auto& observation : complete) objectives = std::max(objectives, observation.more.size());
  Members population;
  std::size_t taken = 0;
  for (const auto& observation : complete) {
    if (observation.more.size() < objectives) continue;
    population.push_back(&observation);
    if (++taken % settings_.population == 0) population = Best(population, settings_.population);
  }
  return Best(population, settings_.population);
}

Coordinates Nsga2Proposer::Propose(const Observations& known, TrialNumber trial, std::uint32_t attempt) {
  Draws draws(seed_, trial, "nsga2", attempt);
  const auto population = Population(known.complete);
  const auto parent = [&]() -> const Coordinates& {
    const auto first = draws.Below(population.size());
    return population[std::min(first, draws.Below(population.size()))]->at;
  };
  const auto& mother = parent();
  auto child = Cross(encoding_, mother, parent(), draws);
  Mutate(encoding_, child, draws);
  return child;
}

}  // namespace slipway::ensemble
