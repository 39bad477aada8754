/// What the exchanges within GPU memory have in common.
#pragma once

#include <cstdint>

#include "runtime/collectives/pieces.h"
#include "runtime/device/workbench.h"
#include "runtime/group/waiter.h"

namespace slipway::runtime {

/// The share of `count` elements that the GPU of a rank adds up. It begins where rows of memory begin.
Slice ShareOf(std::int64_t count, int ranks, int rank);

/// Returns when the device has got to the point. Polls at first, and then waits as Waiter::UntilGpu().
/// Errors: DeviceError; RuntimeError(STALLED).
void AwaitPoint(const DeviceEvent& event, const Waiter& waiter);
/// Of a bench that is not kept: the same for its last copy to the device, so that its memory can be freed. Else at
/// once.
void AwaitUnlessKept(Workbenches::Lease& bench, const Waiter& waiter);
/// As AwaitPoint(), for all that `stream` was given so far. The driver would wait for a dead rank's GPU for ever.
void AwaitWork(const DevicePlace& place, StreamHandle stream, const Waiter& waiter);
/// Of managed memory: returns when `stream` has made its values. Of other memory: at once.
/// Errors: those of ManagedPlaceOf(), of RequireNotCaptured() and of AwaitPoint().
void AwaitManaged(const void* data, StreamHandle stream, const Waiter& waiter);

}  // namespace slipway::runtime
