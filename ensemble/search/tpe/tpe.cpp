#include "ensemble/search/tpe/tpe.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace slipway::ensemble {
namespace {

constexpr double kNotOpen = 1e6;

using Places = std::vector<const Coordinates*>;

/// Best first; among equals the earlier trial.
Places Ranked(const std::vector<Observation>& complete) {
  std::vector<const Observation*> ranked;
  for (const auto& observation : complete) ranked.push_back(&observation);
  std::ranges::stable_sort(ranked, {}, &Observation::value);
  Places places;
  for (const auto* observation : ranked) places.push_back(&observation->at);
  return places;
}

/// `count` of `places`, evenly spread over their order.
Places Thinned(Places places, std::size_t count) {
  if (places.size() <= count) return places;
  for (std::size_t i = 0; i < count; ++i) places[i] = places[i * places.size() / count];
  places.resize(count);
  return places;
}

bool IsSame(const Coordinates& left, const Coordinates& right) {
  return std::ranges::equal(left, right, [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); });
}

bool IsTaken(const Observations& known, const Coordinates& at) {
  const auto is_same = [&](const Coordinates& other) { return IsSame(at, other); };
  return std::ranges::any_of(known.complete, is_same, &Observation::at) ||
         std::ranges::any_of(known.pending, is_same) || std::ranges::any_of(known.failed, is_same);
}

}  // namespace

TpeProposer::TpeProposer(const Encoding& encoding, std::uint64_t seed, TpeSettings settings)
    : encoding_(encoding), activity_(encoding), seed_(seed), settings_(settings) {
  for (std::size_t i = 0; i < encoding.axes().size(); ++i) {
    if (encoding.axis(i).kind == AxisKind::kCategorical && activity_.Decides(i)) branching_.push_back(i);
  }
}

TpeProposer::Split TpeProposer::SplitOf(const Observations& known) const {
  const auto ranked = Ranked(known.complete);
  const auto part = static_cast<std::size_t>(std::ceil(settings_.good_part * static_cast<double>(ranked.size())));
  const std::size_t count = std::min(part, settings_.most_good);
  Split split;
  Places others;
  std::set<std::pair<std::size_t, double>> branches;
  for (std::size_t rank = 0; rank < ranked.size(); ++rank) {
    bool leads = false;
    for (const auto axis : branching_) {
      const double value = (*ranked[rank])[axis];
      leads = (!std::isnan(value) && branches.emplace(axis, value).second) || leads;
    }
    if (rank >= count && !leads) {
      others.push_back(ranked[rank]);
      continue;
    }
    const double height = 1 - (2 * static_cast<double>(rank) + 1) / static_cast<double>(count);
    split.good.places.push_back(ranked[rank]);
    split.good.weights.push_back(rank < count ? 1 + settings_.steepness * height : settings_.branch_weight);
  }
  split.other = Others(known, std::move(others));
  return split;
}

TpeProposer::Side TpeProposer::Others(const Observations& known, Places places) const {
  for (const auto& at : known.failed) places.push_back(&at);
  places = Thinned(std::move(places), settings_.most_other);
  for (const auto& at : known.pending) places.push_back(&at);
  std::vector<double> weights(places.size(), 1.0);
  return {std::move(places), std::move(weights)};
}

ParzenDensity TpeProposer::DensityOf(const Side& side, std::size_t trials, double even_weight) const {
  const double bandwidth = settings_.bandwidth / std::sqrt(1 + static_cast<double>(trials) / 10);
  const double even_part = settings_.even_part / static_cast<double>(encoding_.axes().size());
  return {encoding_, activity_, side.places, side.weights, {bandwidth, settings_.narrowest, even_weight, even_part}};
}

/// Whether no trial has this place, and no constraint is broken.
bool TpeProposer::IsOpen(const Observations& known, const Coordinates& at) const {
  if (IsTaken(known, at)) return false;
  return encoding_.space().constraints().empty() || encoding_.space().Allows(encoding_.Decode(at));
}

Coordinates TpeProposer::Propose(const Observations& known, TrialNumber trial, std::uint32_t attempt) {
  const auto split = SplitOf(known);
  const auto good = DensityOf(split.good, known.complete.size(), settings_.good_even);
  const auto other = DensityOf(split.other, known.complete.size(), settings_.other_even);
  Draws draws(seed_, trial, "tpe", attempt);
  Coordinates best;
  double best_score = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < settings_.candidates; ++i) {
    auto at = good.Draw(draws);
    // A place that is not open wins only if no candidate is open.
    const double score = good.LogDensity(at) - other.LogDensity(at) - (IsOpen(known, at) ? 0 : kNotOpen);
    if (!best.empty() && !(score > best_score)) continue;
    best = std::move(at);
    best_score = score;
  }
  return best;
}

}  // namespace slipway::ensemble
