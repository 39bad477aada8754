/// The section launch.slurm.burst_buffer.
#pragma once

#include "core/json.h"
#include "launcher/spec/spec.h"

namespace slipway::launcher {

/// The typed form of its resolved value.
BurstBufferSpec BuildBurstBuffer(const Json& json);

/// What the batch script asks for, without the datasets that a plan brings into it.
BurstBuffer BufferOf(const BurstBufferSpec& spec, Bytes capacity);

}  // namespace slipway::launcher
