/// Waiting in tests that have an event loop: for what is about to happen, and not for ever.
#pragma once

#include <chrono>

#include "core/clock.h"
#include "core/event_loop.h"

namespace slipway::test {

/// Runs the loop until `condition` holds; false when it does not within the limit.
template <class Condition>
bool RunUntil(EventLoop& loop, Condition condition, std::chrono::milliseconds limit = std::chrono::minutes(1)) {
  const auto deadline = SystemClock().Steady() + limit;
  while (!condition()) {  // asked once more it may miss a process: /proc changes while it is read
    if (SystemClock().Steady() >= deadline) return false;
    loop.RunOnce(std::chrono::milliseconds(20));
  }
  return true;
}

}  // namespace slipway::test
