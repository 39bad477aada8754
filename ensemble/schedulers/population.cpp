#include "ensemble/schedulers/population.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "ensemble/model/random.h"
#include "ensemble/schedulers/curve.h"

namespace slipway::ensemble {
namespace {

/// The last value up to `resource`; the first value of a trial that began beyond it.
double ValueAt(const Curve& curve, double resource) {
  const auto marks = curve.marks();
  const auto beyond = std::ranges::upper_bound(marks, resource, {}, &Curve::Mark::resource);
  return beyond == marks.begin() ? beyond->value : std::prev(beyond)->value;
}

bool LeavesAPlace(TrialState state) {
  return state == TrialState::kPruned || state == TrialState::kFailed || state == TrialState::kCancelled;
}

}  // namespace

int PopulationSize(const SchedulerSettings& settings) {
  return settings.population > 0 ? settings.population : settings.parallel;
}

Population::Population(const SchedulerSettings& settings) : settings_(settings), size_(PopulationSize(settings)) {}

/// Trials are restored in the order of their numbers.
void Population::Imported(TrialNumber trial) { imported_.push_back(trial); }

bool Population::IsImported(TrialNumber trial) const { return std::ranges::binary_search(imported_, trial); }

/// The number of trials before it that were not imported.
std::int64_t Population::PlaceOf(TrialNumber trial) const {
  return trial - (std::ranges::lower_bound(imported_, trial) - imported_.begin());
}

/// Whether it begins without a parent: one of the first population, or an imported one that runs again.
bool Population::IsFirst(TrialNumber trial) const { return IsImported(trial) || PlaceOf(trial) < size_; }

void Population::LeavePlace(TrialNumber trial) {
  if (!IsImported(trial)) replaceable_.insert(trial);
}

void Population::Learn(const Report& report) {
  const auto leaving = leaving_.find(report.trial);
  Curve& curve = leaving == leaving_.end() ? living_[report.trial] : leaving->second;
  curve.Add(report.resource, report.value);
}

Judgement Population::Take(const Report& report) {
  if (leaving_.contains(report.trial)) {
    Learn(report);
    return {};
  }
  Curve& curve = living_[report.trial];
  if (!curve.Add(report.resource, report.value)) return {};
  if (report.resource < settings_.min || !IsAtCheck(report.trial, curve)) return {};
  return Judge(report.trial, report.resource);
}

/// A trial with a parent counts its own resource from its first report: before that, the parent had trained.
bool Population::IsAtCheck(TrialNumber trial, const Curve& curve) const {
  const double start = IsFirst(trial) ? 0 : curve.marks().front().resource;
  const Checks checks(start + settings_.interval, settings_.interval);
  return checks.PassedAt(curve, curve.marks().size() - 1).has_value();
}

Judgement Population::Judge(TrialNumber trial, double resource) {
  const auto standings = StandingsAt(resource);
  const std::size_t living = standings.size();
  if (2 * std::ssize(standings) <= size_ || living < 2 || !HasBudget()) return {};
  const auto own = std::ranges::find(standings, trial, &Standing::second);
  const auto rank = static_cast<std::size_t>(own - standings.begin());
  const std::size_t count = CountOfQuantile(living);
  if (rank < living - count || !(own->first > standings[count - 1].first)) return {};
  const auto ends_soon = [&](const Standing& s) { return EndsWithin(s.second, settings_.interval); };
  if (ends_soon(*own) || std::ranges::all_of(std::span(standings).first(count), ends_soon)) return {};
  const auto reason =
      fmt::format("at {:.6g}: {} is number {} of {} that live; it is replaced by a varied copy of one of the best {}",
                  resource, DescribeValue(own->first, settings_.goal), rank + 1, living, count);
  Tell(trial, Decision::kStop);
  return {Decision::kStop, reason, std::nullopt};
}

/// A new trial may replace it at once. It is not compared with the others until its End.
void Population::Tell(TrialNumber trial, Decision decision) {
  if (decision != Decision::kStop) return;
  LeavePlace(trial);
  leaving_.insert(living_.extract(trial));
}

std::vector<Population::Standing> Population::StandingsAt(double resource) const {
  std::vector<Standing> standings;
  standings.reserve(living_.size());
  for (const auto& [trial, curve] : living_) standings.emplace_back(ValueAt(curve, resource), trial);
  std::ranges::sort(standings);
  return standings;
}

/// At least one, and at most half: no trial is both among the best and among the worst.
std::size_t Population::CountOfQuantile(std::size_t living) const {
  const double part = settings_.quantile * static_cast<double>(living);
  return std::clamp<std::size_t>(static_cast<std::size_t>(std::ceil(part - 1e-9)), 1,
                                 std::max<std::size_t>(living / 2, 1));
}

/// Whether the trial reaches `max` within `resource` more; false without a `max`.
bool Population::EndsWithin(TrialNumber trial, double resource) const {
  return settings_.max && living_.at(trial).marks().back().resource + resource >= *settings_.max;
}

void Population::End(TrialNumber trial, TrialState state) {
  replaceable_.erase(trial);
  if (LeavesAPlace(state)) LeavePlace(trial);
  if (state == TrialState::kComplete && !IsImported(trial)) has_complete_ = true;
  if (auto left = leaving_.extract(trial)) living_.insert(std::move(left));
  if (IsFinal(state)) living_.erase(trial);
}

bool Population::HasParentFor(TrialNumber trial) const {
  return std::ranges::any_of(living_,
                             [&](const auto& parent) { return parent.first != trial && !EndsWithin(parent.first, 0); });
}

bool Population::MayEnd(TrialNumber trial) const {
  return size_ + std::ssize(replaceable_) <= settings_.trials && HasParentFor(trial);
}

bool Population::MayBegin(TrialNumber trial) const {
  if (IsFirst(trial)) return true;
  if (PlaceOf(trial) >= size_ + std::ssize(replaceable_)) return false;
  if (living_.empty()) return !has_complete_;
  return HasParentFor(trial);
}

std::optional<Descent> Population::Descend(TrialNumber trial) const {
  if (IsFirst(trial)) return std::nullopt;
  auto standings = StandingsAt(std::numeric_limits<double>::infinity());
  std::erase_if(standings, [&](const Standing& s) { return std::isinf(s.first) || EndsWithin(s.second, 0); });
  if (standings.empty()) return std::nullopt;
  const CounterRandom random(settings_.seed, trial, "pbt parent");
  return Descent{standings[random.Below(CountOfQuantile(standings.size()), 0)].second};
}

}  // namespace slipway::ensemble
