/// Whether GPUs can be trusted with each other's memory.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/device/sum_kernel.h"
#include "runtime/exchange/step_events.h"
#include "runtime/group/group.h"

namespace slipway::runtime {

/// What a rank gives for the trial.
inline constexpr std::size_t kPeerTrialBytes = 64 << 10;

/// The GPUs add up known numbers once, each in the memory of all ranks, as an exchange does. Drivers open memory of
/// another GPU also where the machine then delivers other bytes: behind some IOMMUs, and in some virtual machines.
/// `blocks`: by rank, as this process reaches them; what lies there is lost. On false, one rank warns on stderr and
/// names a GPU. All ranks are on one node. Collective.
/// `events`: of one bucket; the GPUs wait by them, as in a step. Null: the CPUs do.
/// Cost:   three meetings of the ranks, four with events, and less than a millisecond of the GPU.
/// Errors: RuntimeError on all ranks when a GPU fails. PartedError(STALLED) naming a rank that dies, or whose GPU does
///         not get on. With events, PartedError(DEVICE) on the rank whose GPU fails while it adds up.
bool PeerSumsAreRight(const DevicePlace& place, const std::vector<char*>& blocks, DeviceStream& stream, Group& group,
                      StepEvents* events = nullptr);

}  // namespace slipway::runtime
