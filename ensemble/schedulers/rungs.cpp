#include "ensemble/schedulers/rungs.h"

#include <algorithm>
#include <cmath>

namespace slipway::ensemble {
namespace {

constexpr double kEndless = 1e18;
// Products of decimal fractions may miss the resource they stand for by roundings.
constexpr double kRounding = 1 - 1e-12;

}  // namespace

std::vector<double> RungResources(double min, std::optional<double> max, int reduction) {
  const double last = max ? *max / std::sqrt(reduction) : kEndless;
  std::vector<double> resources;
  double next = min;
  while (next <= last) next = resources.emplace_back(next) * reduction;
  if (max) resources.push_back(*max);
  return resources;
}

Rungs::Rungs(std::span<const double> resources, int reduction) : reduction_(static_cast<std::size_t>(reduction)) {
  for (const double resource : resources) rungs_.push_back({resource, 0, 0, {}});
}

std::size_t Rungs::CountUpTo(double resource) const {
  const auto reached = [&](const Rung& rung) { return rung.resource * kRounding <= resource; };
  return static_cast<std::size_t>(std::ranges::partition_point(rungs_, reached) - rungs_.begin());
}

void Rungs::Place(std::size_t rung, TrialNumber trial, double value, bool goes_on) {
  auto& standings = rungs_[rung].standings;
  const Standing standing{value, trial};
  standings.insert(std::ranges::lower_bound(standings, standing), standing);
  if (goes_on) ++rungs_[rung].gone_on;
}

void Rungs::Remove(std::size_t rung, TrialNumber trial, double value, bool goes_on) {
  auto& standings = rungs_[rung].standings;
  standings.erase(std::ranges::lower_bound(standings, Standing{value, trial}));
  if (goes_on) --rungs_[rung].gone_on;
}

std::size_t Rungs::RankOf(std::size_t rung, TrialNumber trial, double value) const {
  const auto& standings = rungs_[rung].standings;
  return static_cast<std::size_t>(std::ranges::lower_bound(standings, Standing{value, trial}) - standings.begin());
}

}  // namespace slipway::ensemble
