#include "ensemble/search/evolution/cmaes.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ensemble/search/cube/places.h"
#include "ensemble/search/numbers/normal.h"

namespace slipway::ensemble {
namespace {

constexpr double kFirstDeviation = 1.0 / 6;  // of the unit cube: all of it lies within three
constexpr std::size_t kKeptStates = 8;

std::size_t DefaultPopulation(std::size_t axes) {
  return 4 + static_cast<std::size_t>(3 * std::log(std::max<double>(1, static_cast<double>(axes))));
}

/// A number of the normal distribution (mean, deviation), restricted to `part`. The outer parts are unbounded.
double InPart(double mean, double deviation, const Part& part, double unit) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double low = part.is_first ? -infinity : (part.low - mean) / deviation;
  const double high = part.is_last ? infinity : (part.high - mean) / deviation;
  return mean + deviation * TruncatedNormalQuantile(low, high, unit);
}

/// Raises each probability to at least `least`, at the cost of the others.
void KeepChances(std::vector<double>& chances, double least) {
  double lifted = 0, rest = 0;
  for (const double chance : chances) (chance <= least ? lifted : rest) += chance <= least ? least : chance;
  for (double& chance : chances) chance = chance <= least ? least : chance * (1 - lifted) / rest;
}

}  // namespace

CmaesProposer::CmaesProposer(const Encoding& encoding, std::uint64_t seed) : encoding_(encoding), seed_(seed) {
  for (std::size_t i = 0; i < encoding.axes().size(); ++i) {
    (encoding.axis(i).kind == AxisKind::kCategorical ? categorical_ : numeric_).push_back(i);
  }
}

CmaesProposer::State CmaesProposer::First() const {
  State state;
  state.population = state.largest = DefaultPopulation(encoding_.axes().size());
  Begin(state);
  return state;
}

void CmaesProposer::Begin(State& state) const {
  Draws draws(seed_, state.run, "cmaes/run");
  state.bests.clear();
  state.chances.clear();
  for (const auto i : categorical_) {
    const auto values = encoding_.axis(i).values;
    state.chances.emplace_back(values, 1 / static_cast<double>(values));
  }
  double deviation = kFirstDeviation;
  if (!state.large) deviation *= std::pow(10, -2 * draws.Unit());
  std::vector<double> mean(numeric_.size(), 0.5);
  if (state.run > 0) std::ranges::generate(mean, [&] { return draws.Unit(); });
  if (!mean.empty()) state.numbers.emplace(std::move(mean), deviation, state.population);
}

void CmaesProposer::BeginNext(State& state) const {
  ++state.run;
  const std::size_t usual = DefaultPopulation(encoding_.axes().size());
  state.large = state.used_large <= state.used_small;
  if (state.large) {
    state.population = state.largest = 2 * state.largest;
  } else {
    const double unit = CounterRandom(seed_, state.run, "cmaes/population").Unit(0);
    const double ratio = std::max(1.0, 0.5 * static_cast<double>(state.largest) / static_cast<double>(usual));
    state.population = static_cast<std::size_t>(static_cast<double>(usual) * std::pow(ratio, unit * unit));
  }
  Begin(state);
}

/// The state after the last whole generation.
const CmaesProposer::State& CmaesProposer::Replayed(const std::vector<Observation>& complete) {
  const auto is_void = [&](const State& state) {
    return state.taken > complete.size() || (state.taken > 0 && complete[state.taken - 1].trial != state.last);
  };
  while (!states_.empty() && is_void(states_.back())) states_.pop_back();
  if (states_.empty()) states_.push_back(First());
  while (states_.back().taken + states_.back().population <= complete.size()) {
    State next = states_.back();
    Learn(next, std::span(complete).subspan(next.taken, next.population));
    states_.push_back(std::move(next));
    if (states_.size() > kKeptStates) states_.pop_front();
  }
  return states_.back();
}

void CmaesProposer::Learn(State& state, std::span<const Observation> observations) const {
  Generation ranked;
  for (const auto& observation : observations) ranked.push_back(&observation);
  std::ranges::stable_sort(ranked, {}, &Observation::value);
  LearnNumbers(state, ranked);
  LearnChances(state, ranked);
  state.bests.push_back(ranked.front()->value);
  state.taken += ranked.size();
  state.last = observations.back().trial;
  (state.large ? state.used_large : state.used_small) += ranked.size();
  if (HasConverged(state, ranked)) BeginNext(state);
}

void CmaesProposer::LearnNumbers(State& state, const Generation& ranked) const {
  if (!state.numbers) return;
  std::vector<std::vector<double>> points;
  for (const auto* observation : ranked) points.push_back(Numbers(state, *observation));
  state.numbers->Update(points);
  const double margin = 1 / static_cast<double>(numeric_.size() * state.population);
  for (std::size_t k = 0; k < numeric_.size(); ++k) {
    const std::size_t axis = numeric_[k];
    if (!HasParts(encoding_, axis)) continue;
    state.numbers->KeepMargin(k, PartAround(encoding_, axis, state.numbers->mean()[k]), margin);
  }
}

/// The drawn numbers before rounding, as far as they are known: a number is drawn again from the part of its value.
std::vector<double> CmaesProposer::Numbers(const State& state, const Observation& observation) const {
  Draws draws(seed_, observation.trial, "cmaes/unknown");
  std::vector<double> numbers;
  for (std::size_t k = 0; k < numeric_.size(); ++k) {
    const std::size_t axis = numeric_[k];
    const double at = observation.at[axis];
    const double mean = state.numbers->mean()[k];
    const double deviation = state.numbers->Deviation(k);
    if (std::isnan(at)) {
      numbers.push_back(mean + deviation * draws.Normal());
    } else if (HasParts(encoding_, axis)) {
      numbers.push_back(InPart(mean, deviation, PartAround(encoding_, axis, at), draws.Unit()));
    } else {
      numbers.push_back(at);
    }
  }
  return numbers;
}

void CmaesProposer::LearnChances(State& state, const Generation& ranked) const {
  const CovarianceAdaptationRates rates(encoding_.axes().size(), state.population);
  for (std::size_t k = 0; k < categorical_.size(); ++k) {
    auto& chances = state.chances[k];
    const double values = static_cast<double>(chances.size());
    std::vector<double> wanted(chances.size(), 0.0);
    double total = 0;
    for (std::size_t i = 0; i < rates.parents; ++i) {
      const double at = ranked[i]->at[categorical_[k]];
      if (std::isnan(at)) continue;
      wanted[static_cast<std::size_t>(at)] += rates.weights[i];
      total += rates.weights[i];
    }
    // More values and axes need more generations to be distinguished.
    const double axes = static_cast<double>(categorical_.size());
    const double rate = total * rates.effective / (rates.effective + values + axes);
    for (std::size_t v = 0; v < chances.size() && total > 0; ++v) chances[v] += rate * (wanted[v] / total - chances[v]);
    KeepChances(chances, 0.2 / axes / (values - 1) / values);
  }
}

bool CmaesProposer::HasConverged(const State& state, const Generation& ranked) const {
  if (!state.numbers) return false;
  if (state.numbers->is_spent()) return true;
  const std::size_t generations = 10 + 30 * numeric_.size() / state.population;
  if (state.bests.size() < generations) return false;
  const auto [low, high] = std::ranges::minmax(std::span(state.bests).last(generations));
  const double range = std::max(high, ranked.back()->value) - std::min(low, ranked.front()->value);
  return !(range > 1e-12 * std::max(1e-3, std::abs(low)));
}

Coordinates CmaesProposer::Propose(const Observations& known, TrialNumber trial, std::uint32_t attempt) {
  const State& state = Replayed(known.complete);
  Draws draws(seed_, trial, "cmaes", attempt);
  Coordinates at(encoding_.axes().size());
  if (state.numbers) {
    const auto numbers = state.numbers->Draw(draws);
    // Clamped to the border, not drawn again: optima often lie on it.
    for (std::size_t k = 0; k < numeric_.size(); ++k) at[numeric_[k]] = std::clamp(numbers[k], 0.0, 1.0);
  }
  for (std::size_t k = 0; k < categorical_.size(); ++k) {
    at[categorical_[k]] = static_cast<double>(draws.Weighted(state.chances[k]));
  }
  return at;
}

}  // namespace slipway::ensemble
