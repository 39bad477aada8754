#include "ensemble/search/gaussian_process/gp_proposer.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <ranges>

#include "ensemble/search/gaussian_process/nearby_model.h"
#include "ensemble/search/gaussian_process/subset.h"
#include "ensemble/search/results/observations.h"

namespace slipway::ensemble {
namespace {

constexpr std::size_t kMostResults = 400;
constexpr std::size_t kMostFailures = 60;
constexpr std::size_t kMostPending = 100;
constexpr std::size_t kFewestResults = 4;
constexpr std::size_t kStarts = 5;
constexpr double kNextToNothing = -10;  // the logarithm of 1/20000 of the standard deviation of a model's results

/// The least number of results for a model of a neighbourhood.
std::size_t FewestNearby(std::size_t axes) { return axes + 4; }

std::vector<double> ValuesOf(const Observations& known) {
  std::vector<double> values;
  for (const auto& result : known.complete) values.push_back(result.value);
  return values;
}

/// The value of failed trials: the start of the worse quarter. It repels the search, but does not hide their
/// neighbours.
double FailedValue(std::vector<double> values) {
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(values.size() * 3 / 4);
  std::ranges::nth_element(values, place);
  return *place;
}

std::span<const Coordinates> Latest(const std::vector<Coordinates>& places, std::size_t most) {
  return std::span(places).last(std::min(most, places.size()));
}

double SquaredDistance(const Coordinates& left, const Coordinates& right, const std::vector<double>& lengths,
                       const std::vector<Axis>& axes) {
  double sum = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const double step = DifferenceOnAxis(left[i], right[i], axes[i]) / lengths[i];
    sum += step * step;
  }
  return sum;
}

/// The largest difference on an axis that has an order.
double LargestStep(const Coordinates& left, const Coordinates& right, const std::vector<Axis>& axes) {
  double largest = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (axes[i].kind == AxisKind::kCategorical || std::isnan(left[i]) || std::isnan(right[i])) continue;
    largest = std::max(largest, std::abs(left[i] - right[i]));
  }
  return largest;
}

/// The sides of a region follow the lengths of the kernel: up to `most` times longer where the function hardly changes.
SearchBox BoxAround(const Coordinates& centre, double side, const std::vector<double>& lengths, double most) {
  double mean = 0;
  for (const double length : lengths) mean += std::log(length) / static_cast<double>(lengths.size());
  auto box = SearchBox::Whole(centre.size());
  box.centre = centre;
  for (std::size_t i = 0; i < centre.size(); ++i) {
    if (std::isnan(centre[i])) continue;
    const double half = 0.5 * side * std::clamp(lengths[i] / std::exp(mean), 0.25, most);
    box.low[i] = std::max(0.0, centre[i] - half);
    box.high[i] = std::min(1.0, centre[i] + half);
  }
  return box;
}

bool Holds(const SearchBox& box, const Coordinates& at) {
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (std::isnan(at[i]) || std::isnan(box.centre[i]) || at[i] == box.centre[i]) continue;
    if (at[i] < box.low[i] || at[i] > box.high[i]) return false;
  }
  return true;
}

}  // namespace

struct GpProposer::Step {
  StepKind kind;
  TrustRegion region;

  OutputScale scale() const {
    return kind == StepKind::kEverywhereByValues ? OutputScale::kClipped : OutputScale::kLog;
  }
};

struct GpProposer::Model {
  FeatureMap map;
  GaussianProcess process;
  double radius;  // how far its data reach from the centre

  /// Adds pending trials with their expected values.
  void Condition(std::span<const Coordinates> pending);
  double MeanAt(const Coordinates& at) const;
  /// The place with the lowest expected value: `otherwise`, or one of `places` in the box.
  const Coordinates& LowestIn(const SearchBox& box, std::span<const Coordinates> places,
                              const Coordinates& otherwise) const;
};

GpProposer::GpProposer(const Encoding& encoding, std::uint64_t seed)
    : encoding_(encoding),
      seed_(seed),
      design_(std::clamp<TrialNumber>(static_cast<TrialNumber>(encoding.axes().size()) + 2, 5, 12)),
      map_(encoding),
      search_(encoding),
      points_(seed, encoding.axes().size()) {}

Coordinates GpProposer::Filling(TrialNumber trial, std::uint32_t attempt) const {
  Draws draws(seed_, trial, "gp filling", attempt);
  const auto whole = SearchBox::Whole(encoding_.axes().size());
  if (attempt > 0) return search_.candidates().Anywhere(whole, draws);
  auto at = UnitToAxes(points_.Point(static_cast<std::uint64_t>(trial)), encoding_.axes());
  search_.candidates().Settle(at, whole, draws);
  return at;
}

GpProposer::Step GpProposer::PlanStep(const Observations& known, TrialNumber trial) const {
  const auto& axes = encoding_.axes();
  const auto kind = StepOf(trial, axes.size());
  const bool too_few = kind == StepKind::kNearby && known.complete.size() < FewestNearby(axes.size());
  return {too_few ? StepKind::kRegion : kind, ReplayRegion(known.complete, design_, axes, known.pending.size())};
}

GpProposer::Model GpProposer::Learn(const Observations& known, const Step& step) {
  const auto& kernel = (step.scale() == OutputScale::kLog ? log_ : clipped_).For(known.complete);
  const auto values = TransformValues(ValuesOf(known), step.scale());
  TrainingSet data;
  for (const auto i : SpreadSubset(values, kMostResults)) data.Add(map_, known.complete[i].at, values[i]);
  const double failed = FailedValue(values);
  for (const auto& at : Latest(known.failed, kMostFailures)) data.Add(map_, at, failed);
  Model model{map_, GaussianProcess(kernel, map_, std::move(data)), 1};
  model.Condition(Latest(known.pending, kMostPending));
  return model;
}

GpProposer::Model GpProposer::LearnNearby(const Observations& known, const Step& step, std::size_t count) {
  const Kernel& everywhere = log_.For(known.complete);
  const auto& centre = known.complete[step.region.centre].at;
  const auto& axes = encoding_.axes();
  std::vector<double> distances;
  for (const auto& result : known.complete)
    distances.push_back(SquaredDistance(result.at, centre, everywhere.lengths, axes));
  const auto chosen = LowestSubset(distances, count);
  std::vector<Coordinates> places;
  std::vector<double> values, reaches;
  for (const auto i : chosen) {
    places.push_back(known.complete[i].at);
    values.push_back(known.complete[i].value);
    reaches.push_back(LargestStep(known.complete[i].at, centre, axes));
  }
  std::ranges::sort(reaches);
  const double radius = std::clamp(reaches[(count - 1) * 3 / 4], 1e-7, 0.5);
  const double zoom = 0.5 / radius;
  auto map = map_.Focused(centre, zoom);
  const auto is_near = [&](const Coordinates& at) { return LargestStep(at, centre, axes) <= 2 * radius; };
  // Failed trials join before the fit. Else the kernel would know only the smooth side of the border where trials fail.
  const double failed = FailedValue(values);
  for (const auto& at : Latest(known.failed, kMostFailures) | std::views::filter(is_near)) {
    places.push_back(at);
    values.push_back(failed);
  }
  auto explained = ExplainResults(map, places, values, std::max(everywhere.noise, 1e-4), InteractionsEverywhere(known));
  GaussianProcess process(std::move(explained.kernel), map, std::move(explained.data));
  Model model{std::move(map), std::move(process), radius};
  std::vector<Coordinates> pending;
  std::ranges::copy_if(Latest(known.pending, kMostPending), std::back_inserter(pending), is_near);
  model.Condition(pending);
  return model;
}

/// Pairs, when one of the models of the whole space has them.
Interactions GpProposer::InteractionsEverywhere(const Observations& known) {
  if (encoding_.axes().size() < kFewestAxesForPairs) return Interactions::kAll;
  const auto of_logs = log_.For(known.complete).shape.interactions;
  return of_logs == Interactions::kPairs ? of_logs : clipped_.For(known.complete).shape.interactions;
}

void GpProposer::Model::Condition(std::span<const Coordinates> pending) {
  if (pending.empty()) return;
  TrainingSet data = process.data();
  for (const auto& at : pending) data.Add(map, at, MeanAt(at));
  process = GaussianProcess(process.kernel(), map, std::move(data));
}

const Coordinates& GpProposer::Model::LowestIn(const SearchBox& box, std::span<const Coordinates> places,
                                               const Coordinates& otherwise) const {
  const Coordinates* lowest = &otherwise;
  double least = MeanAt(otherwise);
  for (const auto& at : places) {
    if (!Holds(box, at)) continue;
    const double mean = MeanAt(at);
    if (mean < least) lowest = &at;
    least = std::min(least, mean);
  }
  return *lowest;
}

double GpProposer::Model::MeanAt(const Coordinates& at) const {
  std::vector<double> features(map.size());
  map.Write(at, features);
  return process.At(features).mean;
}

/// The task of a step. A local step improves on the best of its region: better points may lie in a basin that the
/// search has left. The box moves to the pending trial with the lowest expected value. Otherwise, of eight parallel
/// trials, seven would search behind the first.
AcquisitionTask GpProposer::TaskOf(const Model& model, const Observations& known, const Step& step) const {
  AcquisitionTask task{model.process, model.map, 0, SearchBox::Whole(encoding_.axes().size()), {}};
  if (!IsLocal(step.kind)) {
    task.best = std::ranges::min(model.process.Means());
  } else {
    const auto& centre = known.complete[step.region.centre].at;
    const double side =
        step.kind == StepKind::kNearby ? std::min(step.region.side, 2 * model.radius) : step.region.side;
    const auto box_around = [&](const Coordinates& at) {
      return BoxAround(at, side, model.process.kernel().lengths, step.region.elsewhere ? 1 : 4);
    };
    const auto pending = Latest(known.pending, kMostPending);
    task.box = box_around(model.LowestIn(box_around(centre), pending, centre));
    task.starts.push_back(centre);
    task.best = model.MeanAt(model.LowestIn(task.box, pending, centre));
  }
  for (const auto i : LowestSubset(ValuesOf(known), kStarts)) task.starts.push_back(known.complete[i].at);
  return task;
}

/// Ranks places by models of the nearest results. A model cannot see a gain that is too small beside the differences of
/// its results. Then the nearer half of the results is used, and so on. If no model promises a gain, the search has
/// converged.
std::vector<Promise> GpProposer::RankNearby(const Observations& known, const Step& step, Draws& draws) {
  const auto axes = encoding_.axes().size();
  std::vector<Promise> of_most;
  for (auto count = std::min(ResultsNearby(axes), known.complete.size()); count >= FewestNearby(axes); count /= 2) {
    auto ranked = search_.Rank(TaskOf(LearnNearby(known, step, count), known, step), draws);
    if (ranked.front().log_improvement > kNextToNothing) return ranked;
    if (of_most.empty()) of_most = std::move(ranked);
  }
  return of_most;
}

const std::vector<Promise>& GpProposer::Rank(const Observations& known, TrialNumber trial) {
  const auto name = Fingerprint(known) + static_cast<std::uint64_t>(trial);
  if (ranked_of_ == name) return ranked_;
  const auto step = PlanStep(known, trial);
  Draws draws(seed_, trial, "gp candidates");
  ranked_ = step.kind == StepKind::kNearby ? RankNearby(known, step, draws)
                                           : search_.Rank(TaskOf(Learn(known, step), known, step), draws);
  ranked_of_ = name;
  return ranked_;
}

Coordinates GpProposer::Propose(const Observations& known, TrialNumber trial, std::uint32_t attempt) {
  if (encoding_.axes().empty()) return {};
  if (trial < design_ || known.complete.size() < kFewestResults) return Filling(trial, attempt);
  const auto& ranked = Rank(known, trial);
  return attempt < ranked.size() ? ranked[attempt].at : Filling(trial, attempt);
}

}  // namespace slipway::ensemble
