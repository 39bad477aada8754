#include "ensemble/search/portfolio/search_runs.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "ensemble/search/trust_region.h"

namespace slipway::ensemble {
namespace {

constexpr double kSameValue = 3e-4;    // of the gain of the better half of the improvements
constexpr double kHopeless = 0.01;     // of what a run lacks to the best of run 0
constexpr double kSameRunPlace = 0.1;  // of the axes
constexpr char kRunMark = '#';

/// The progress of the values of a run.
class Progress {
 public:
  explicit Progress(std::size_t axes) : needed_(1 + std::max<std::size_t>(3, axes / 2)) {}

  void Add(const Observation& result) {
    ++count_;
    if (!best_ || result.value < best_->value) {
      best_ = &result;
      improvements_.push_back(result.value);
    }
    lowest_.insert(std::ranges::upper_bound(lowest_, result.value), result.value);
    if (lowest_.size() > needed_) lowest_.pop_back();
  }

  std::size_t count() const { return count_; }
  const Observation* best() const { return best_; }
  /// Whether enough trials are as good as the best one.
  bool HasConverged(double tolerance) const {
    return tolerance > 0 && lowest_.size() == needed_ && lowest_.back() <= lowest_.front() + tolerance;
  }
  double Tolerance() const {
    return improvements_.empty() ? 0 : kSameValue * (improvements_[improvements_.size() / 2] - improvements_.back());
  }

 private:
  std::size_t needed_;
  std::size_t count_ = 0;
  const Observation* best_ = nullptr;
  std::vector<double> improvements_;
  std::vector<double> lowest_;  // ascending
};

bool LieTogether(const Coordinates& left, const Coordinates& right, const std::vector<Axis>& axes) {
  double sum = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) sum += std::pow(DifferenceOnAxis(left[i], right[i], axes[i]), 2);
  return sum < kSameRunPlace * kSameRunPlace * static_cast<double>(axes.size());
}

/// Whether a restarted run has ended. `best`: the best trial of run 0.
bool IsOver(const Progress& run, const Observation& best, const std::vector<Axis>& axes) {
  const double lacking = run.best()->value - best.value;
  if (run.HasConverged(std::max(run.Tolerance(), kHopeless * lacking))) return true;
  return lacking >= 0 && LieTogether(run.best()->at, best.at, axes);
}

bool CanConverge(const Observations& known, const std::vector<Axis>& axes) {
  return std::ranges::any_of(axes, [](const Axis& axis) { return axis.kind == AxisKind::kContinuous; }) &&
         std::ranges::all_of(known.complete, [](const auto& result) { return result.more.empty(); });
}

}  // namespace

SearchRuns ReplayRuns(const Observations& known, TrialNumber design, const std::vector<Axis>& axes) {
  SearchRuns runs;
  if (!CanConverge(known, axes)) return runs;
  const auto filling = static_cast<std::size_t>(design);
  Progress whole(axes.size()), anew(axes.size());
  const Observation* best = nullptr;  // of run 0
  for (const auto& result : known.complete) {
    whole.Add(result);
    const std::size_t run = RunOf(result.origin);
    if (run == 0 && (best == nullptr || result.value < best->value)) best = &result;
    if (run != runs.run || best == nullptr) continue;
    anew.Add(result);
    if (anew.count() <= filling || !IsOver(anew, *best, axes)) continue;
    ++runs.run;
    anew = Progress(axes.size());
  }
  runs.converged = whole.count() > filling && whole.HasConverged(whole.Tolerance());
  return runs;
}

std::size_t RunOf(std::string_view origin) {
  const auto mark = origin.find(kRunMark);
  if (mark == std::string_view::npos) return 0;
  std::size_t run = 0;
  std::from_chars(origin.data() + mark + 1, origin.data() + origin.size(), run);
  return run;
}

std::string_view MethodOf(std::string_view origin) { return origin.substr(0, origin.find(kRunMark)); }

std::string OriginOf(std::string_view method, std::size_t run) {
  return std::string(method) + (run == 0 ? "" : kRunMark + std::to_string(run));
}

}  // namespace slipway::ensemble
