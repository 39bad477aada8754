/// What the exchanges within GPU memory have in common.
#pragma once

#include <cstdint>

#include "runtime/collectives/pieces.h"
#include "runtime/device/stream.h"
#include "runtime/group/waiter.h"

namespace slipway::runtime {

/// The share of `count` elements that the GPU of a rank adds up. It begins where rows of memory begin.
Slice ShareOf(std::int64_t count, int ranks, int rank);

/// Returns when the device has got to the point. Polls at first; then a thread in the foreground stays awake as
/// `waiter` does, and after that it sleeps between two looks. Errors: DeviceError.
void AwaitPoint(const DeviceEvent& event, const Waiter& waiter);

}  // namespace slipway::runtime
