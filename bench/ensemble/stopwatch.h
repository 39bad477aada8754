/// Time of one side of a benchmark.
#pragma once

#include <utility>

#include "core/clock.h"
#include "core/units.h"

namespace slipway::bench {

template <class Action>
double SecondsOf(Action&& action) {
  const auto begun = SystemClock().Steady();
  std::forward<Action>(action)();
  return Seconds(SystemClock().Steady() - begun).count();
}

}  // namespace slipway::bench
