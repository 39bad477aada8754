#include "ensemble/search/evolution/nsga2.h"

#include <algorithm>

#include "ensemble/search/evolution/variation.h"
#include "ensemble/search/results/pareto.h"

namespace slipway::ensemble {
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
