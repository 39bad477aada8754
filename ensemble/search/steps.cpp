#include "ensemble/search/steps.h"

#include <algorithm>
#include <utility>

#include "ensemble/search/numbers/spread.h"

namespace slipway::ensemble {
namespace {

struct Part {
  StepKind kind;
  double of_trials;
};
constexpr std::size_t kMostNearby = 150;  // from 13 axes on; a fit of twice as many takes eight times as long
constexpr Part kEarly[] = {{StepKind::kEverywhereByValues, 0.25},
                           {StepKind::kNearby, 0.25},
                           {StepKind::kEverywhereByLogarithms, 0.25},
                           {StepKind::kRegion, 0.25}};
constexpr Part kLate[] = {{StepKind::kEverywhereByValues, 0.05},
                          {StepKind::kNearby, 0.70},
                          {StepKind::kEverywhereByLogarithms, 0.10},
                          {StepKind::kRegion, 0.15}};

}  // namespace

bool IsLocal(StepKind kind) { return kind == StepKind::kRegion || kind == StepKind::kNearby; }

std::size_t ResultsNearby(std::size_t axes) {
  return std::min((axes + 1) * (axes + 2) / 2 + 4 * axes + 10, kMostNearby);
}

StepKind StepOf(TrialNumber trial, std::size_t axes) {
  const auto& parts = std::cmp_less(trial, ResultsNearby(axes)) ? kEarly : kLate;
  double left = SpreadUnit(trial, 1);
  for (const auto& part : parts) {
    left -= part.of_trials;
    if (left < 0) return part.kind;
  }
  return StepKind::kRegion;
}

}  // namespace slipway::ensemble
