#include "ensemble/search/quadratic/quadratic_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "ensemble/model/random.h"

namespace slipway::ensemble {
namespace {

constexpr std::uint32_t kLocalAttempts = 12;
constexpr std::uint32_t kCandidates = 300;  // of a wide step
constexpr TrialNumber kWideEvery = 16;
// Factors for the radius after the open trials have ended, in the order in which their steps are tried.
constexpr double kNextRadii[] = {1.0, 2.0, 0.5, 4.0, 0.25};
constexpr double kCrowded = 0.2;  // of a step: nearer to an open trial it gives no new information
constexpr double kShrink = 0.7;
constexpr double kSmallestRadius = 1e-9;
constexpr double kSettled = 1e-6;  // a smaller region has found its minimum
constexpr double kSamePlace = 1e-10;

double Distance(const std::vector<double>& left, const std::vector<double>& right) {
  double sum = 0;
  for (std::size_t i = 0; i < left.size(); ++i) sum += (left[i] - right[i]) * (left[i] - right[i]);
  return std::sqrt(sum);
}

double DistanceToNearest(const std::vector<double>& from, const std::vector<std::vector<double>>& places) {
  double least = std::numeric_limits<double>::infinity();
  for (const auto& place : places) least = std::min(least, Distance(from, place));
  return least;
}

bool IsSearched(const Axis& axis) { return axis.kind != AxisKind::kCategorical; }

/// Whether both have the same categories and the same active axes.
bool LieInOneSlice(const Coordinates& left, const Coordinates& right, const std::vector<Axis>& axes) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (std::isnan(left[i]) != std::isnan(right[i])) return false;
    if (!IsSearched(axes[i]) && !std::isnan(left[i]) && left[i] != right[i]) return false;
  }
  return true;
}

std::size_t PointsInModel(std::size_t known, std::size_t d) {
  return std::min({known, (d + 1) * (d + 2) / 2, std::max<std::size_t>(100, 2 * d + 1)});
}

/// The `count` of the first `known` places that lie nearest to place `centre`.
std::vector<std::size_t> Nearest(const std::vector<std::vector<double>>& places, std::size_t known, std::size_t centre,
                                 std::size_t count) {
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < known; ++i) order.emplace_back(Distance(places[i], places[centre]), i);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end());
  std::vector<std::size_t> nearest;
  for (std::size_t i = 0; i < count; ++i) nearest.push_back(order[i].second);
  return nearest;
}

/// The step from `from` to where the model is smallest within the radius and the unit cube.
std::vector<double> SmallestFrom(const std::vector<double>& from, const QuadraticModel& model, double radius) {
  std::vector<double> low(from.size()), high(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    low[i] = -from[i];
    high[i] = 1 - from[i];
  }
  return SmallestWithin(model, radius, low, high);
}

/// The usual steepness between neighbours: the 90th percentile, not the maximum. Of many places it uses only some.
double Steepness(const std::vector<std::vector<double>>& places, const std::vector<double>& values) {
  std::vector<double> slopes;
  const std::size_t stride = places.size() / 500 + 1;
  for (std::size_t i = 0; i < places.size(); i += stride) {
    std::size_t nearest = i;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < places.size(); j += stride) {
      const double distance = Distance(places[i], places[j]);
      if (distance <= kSamePlace || distance >= least) continue;
      least = distance;
      nearest = j;
    }
    if (nearest != i) slopes.push_back(std::abs(values[i] - values[nearest]) / least);
  }
  if (slopes.empty()) return 0;
  const auto ninth = slopes.begin() + static_cast<std::ptrdiff_t>(slopes.size() * 9 / 10);
  std::nth_element(slopes.begin(), ninth, slopes.end());
  return *ninth;
}

}  // namespace

QuadraticSearch::QuadraticSearch(const Encoding& encoding, std::uint64_t seed)
    : encoding_(encoding),
      seed_(seed),
      design_(seed, encoding.axes().size()),
      first_model_(static_cast<std::size_t>(std::ranges::count_if(encoding.axes(), IsSearched)) + 2) {}

Coordinates QuadraticSearch::Propose(const Observations& known, TrialNumber trial, std::uint32_t attempt) {
  if (attempt >= kLocalAttempts) return Random(trial, attempt);
  if (known.complete.size() < first_model_) {
    if (attempt > 0) return Random(trial, attempt);
    return UnitToAxes(design_.Point(static_cast<std::uint64_t>(trial)), encoding_.axes());
  }
  const Slice slice = SliceOfBest(known);
  if (slice.axes.empty()) return Random(trial, attempt);
  Replay(slice);
  std::vector<Place> taken;
  for (const auto* list : {&known.pending, &known.failed}) {
    for (const auto& at : *list) {
      if (LieInOneSlice(at, slice.best, encoding_.axes())) taken.push_back(PlaceIn(slice, at));
    }
  }
  const bool wide = trial % kWideEvery == kWideEvery - 1 || slice.places.size() < slice.axes.size() + 2;
  if (wide && attempt == 0) {
    const bool has_categories = first_model_ < encoding_.axes().size() + 2;
    if (has_categories && CounterRandom(seed_, trial, "quadratic wide").Unit(0) < 0.5) return Random(trial, attempt);
    return AtPlace(slice, LowestPossible(slice, taken, trial));
  }
  if (!wide && attempt == 0) {
    if (const auto place = ModelStep(slice, taken, trial)) return AtPlace(slice, *place);
    if (region_.radius < kSettled) return AtPlace(slice, LowestPossible(slice, taken, trial));
  }
  const double radius = region_.radius > 0 ? region_.radius : 0.1;
  return AtPlace(slice, Near(slice.places[region_.best], radius, trial, attempt));
}

QuadraticSearch::Slice QuadraticSearch::SliceOfBest(const Observations& known) const {
  const auto& axes = encoding_.axes();
  Slice slice;
  slice.best = std::ranges::min_element(known.complete, {}, &Observation::value)->at;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (IsSearched(axes[i]) && !std::isnan(slice.best[i])) slice.axes.push_back(i);
  }
  for (const auto& observation : known.complete) {
    if (!LieInOneSlice(observation.at, slice.best, axes)) continue;
    slice.trials.push_back(observation.trial);
    slice.places.push_back(PlaceIn(slice, observation.at));
    slice.values.push_back(observation.value);
  }
  return slice;
}

QuadraticSearch::Place QuadraticSearch::PlaceIn(const Slice& slice, const Coordinates& at) const {
  Place place;
  for (const auto axis : slice.axes) place.push_back(at[axis]);
  return place;
}

Coordinates QuadraticSearch::AtPlace(const Slice& slice, const Place& place) const {
  Coordinates at = slice.best;
  for (std::size_t i = 0; i < slice.axes.size(); ++i) at[slice.axes[i]] = place[i];
  return at;
}

void QuadraticSearch::Replay(const Slice& slice) {
  const bool goes_on = replayed_.size() <= slice.trials.size() &&
                       std::equal(replayed_.begin(), replayed_.end(), slice.trials.begin()) && !replayed_.empty() &&
                       LieInOneSlice(replayed_best_, slice.best, encoding_.axes());
  if (!goes_on) region_ = {};
  while (region_.taken < slice.places.size()) Take(slice, region_.taken);
  replayed_ = slice.trials;
  replayed_best_ = slice.best;
}

void QuadraticSearch::Take(const Slice& slice, std::size_t next) {
  if (next > 0) {
    const bool inside = Distance(slice.places[next], slice.places[region_.best]) <= 1.001 * region_.radius;
    if (inside) JudgeModel(slice, next);
    if (slice.values[next] < slice.values[region_.best]) {
      if (!inside) region_.radius = 0;
      region_.best = next;
    }
  }
  region_.taken = next + 1;
  if (region_.radius == 0 && region_.taken >= slice.axes.size() + 2) {
    region_.radius = std::max(0.95 * RadiusOfNeighbours(slice, region_), kSmallestRadius);
  }
}

void QuadraticSearch::JudgeModel(const Slice& slice, std::size_t next) {
  const auto model = ModelAround(slice, region_);
  if (!model) return;
  const Place& best = slice.places[region_.best];
  Place step = slice.places[next];
  for (std::size_t i = 0; i < step.size(); ++i) step[i] -= best[i];
  const double promised = -model->ChangeAt(step);
  // Judges only points near the minimum of the model.
  if (!(promised > 0) || promised < 0.5 * -model->ChangeAt(SmallestFrom(best, *model, region_.radius))) return;
  const double kept = slice.values[region_.best] - slice.values[next];
  // With few points nearby, a model is wrong because it knows too little, not because the region is too large.
  const auto near =
      std::ranges::count_if(slice.places.begin(), slice.places.begin() + static_cast<std::ptrdiff_t>(next),
                            [&](const Place& place) { return Distance(place, best) <= 1.5 * region_.radius; });
  const bool knows_enough = 2 * static_cast<std::size_t>(near) > 3 * slice.axes.size();
  if (kept < 0.25 * promised && knows_enough) region_.radius = std::max(kShrink * region_.radius, kSmallestRadius);
  if (kept > 0.75 * promised) region_.radius = std::min(2 * region_.radius, 1.0);
}

std::optional<QuadraticModel> QuadraticSearch::ModelAround(const Slice& slice, const Region& region) const {
  const std::size_t d = slice.axes.size();
  if (region.taken < d + 2) return std::nullopt;
  std::vector<Place> places;
  std::vector<double> values;
  for (const auto i : Nearest(slice.places, region.taken, region.best, PointsInModel(region.taken, d))) {
    places.push_back(slice.places[i]);
    values.push_back(slice.values[i]);
  }
  return FitQuadratic(places, values, slice.places[region.best]);
}

double QuadraticSearch::RadiusOfNeighbours(const Slice& slice, const Region& region) const {
  const auto count = PointsInModel(region.taken, slice.axes.size());
  const auto nearest = Nearest(slice.places, region.taken, region.best, count);
  return Distance(slice.places[nearest.back()], slice.places[region.best]);
}

std::optional<QuadraticSearch::Place> QuadraticSearch::ModelStep(const Slice& slice, const std::vector<Place>& taken,
                                                                 TrialNumber trial) const {
  const auto model = ModelAround(slice, region_);
  if (!model) return std::nullopt;
  const Place& best = slice.places[region_.best];
  std::optional<Place> wanted;
  for (const double factor : kNextRadii) {
    Place place = SmallestFrom(best, *model, factor * region_.radius);
    if (!(-model->ChangeAt(place) > 1e-14 * std::abs(slice.values[region_.best]))) return std::nullopt;
    for (std::size_t i = 0; i < best.size(); ++i) place[i] = std::clamp(place[i] + best[i], 0.0, 1.0);
    const bool known = DistanceToNearest(place, slice.places) < kSamePlace;
    if (!known && DistanceToNearest(place, taken) >= kCrowded * Distance(place, best)) return place;
    if (taken.empty()) return std::nullopt;
    if (!wanted) wanted = std::move(place);
  }
  return Near(*wanted, 0.5 * Distance(*wanted, best), trial, 0);
}

QuadraticSearch::Place QuadraticSearch::Near(Place place, double radius, TrialNumber trial,
                                             std::uint32_t attempt) const {
  const CounterRandom random(seed_, trial, "quadratic near");
  const auto d = static_cast<std::uint32_t>(place.size());
  const std::uint32_t first = attempt * (d + 1);
  Place direction(place.size());
  for (std::uint32_t i = 0; i < d; ++i) direction[i] = 2 * random.Unit(first + i) - 1;
  const double length = std::max(Distance(direction, Place(place.size(), 0.0)), kSamePlace);
  const double reach = radius * std::pow(1.6, attempt) * std::pow(random.Unit(first + d), 1.0 / d);
  for (std::uint32_t i = 0; i < d; ++i) place[i] = std::clamp(place[i] + reach * direction[i] / length, 0.0, 1.0);
  return place;
}

QuadraticSearch::Place QuadraticSearch::LowestPossible(const Slice& slice, const std::vector<Place>& taken,
                                                       TrialNumber trial) const {
  const CounterRandom random(seed_, trial, "quadratic candidates");
  const double steepness = Steepness(slice.places, slice.values);
  const auto d = static_cast<std::uint32_t>(slice.axes.size());
  const double redrawn = std::max(0.2, 1.0 / d);
  Place lowest;
  double least = std::numeric_limits<double>::infinity();
  for (std::uint32_t candidate = 0; candidate < kCandidates; ++candidate) {
    // Half of the candidates keep most of the best place: this helps with separable functions.
    Place place = slice.places[region_.best];
    for (std::uint32_t i = 0; i < d; ++i) {
      const std::uint32_t draw = 2 * (candidate * d + i);
      if (candidate % 2 == 0 || random.Unit(draw) < redrawn) place[i] = random.Unit(draw + 1);
    }
    double bound = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < slice.places.size(); ++i) {
      bound = std::max(bound, slice.values[i] - steepness * Distance(place, slice.places[i]));
    }
    const bool crowded = DistanceToNearest(place, taken) < 0.5 * DistanceToNearest(place, slice.places);
    if (!lowest.empty() && (bound >= least || crowded)) continue;
    least = bound;
    lowest = std::move(place);
  }
  return lowest;
}

Coordinates QuadraticSearch::Random(TrialNumber trial, std::uint32_t attempt) const {
  const CounterRandom random(seed_, trial, "quadratic random");
  const auto d = static_cast<std::uint32_t>(encoding_.axes().size());
  std::vector<double> units(d);
  for (std::uint32_t i = 0; i < d; ++i) units[i] = random.Unit(attempt * d + i);
  return UnitToAxes(std::move(units), encoding_.axes());
}

}  // namespace slipway::ensemble
