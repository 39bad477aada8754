/// What all benchmarks share.
#pragma once

#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/json.h"
#include "core/units.h"

namespace slipway::bench {

/// The middle value; 0 of none.
double Median(std::vector<double> values);

/// {"host", "cores", "processor"}: what figures are worth nothing without.
Json DescribeMachine();

/// How long it takes.
template <class Action>
double SecondsOf(Action&& action) {
  const auto begun = SystemClock().Steady();
  std::forward<Action>(action)();
  return Seconds(SystemClock().Steady() - begun).count();
}

}  // namespace slipway::bench
