/// The section launch.slurm.burst_buffer.
#pragma once

#include "core/json.h"
#include "launcher/spec/spec.h"

namespace slipway::launcher {

/// The typed form of its resolved value.
BurstBufferSpec BuildBurstBuffer(const Json& json);

/// The buffer that the batch script requests, without the datasets that a plan adds.
BurstBuffer BufferOf(const BurstBufferSpec& spec, Bytes capacity);

}  // namespace slipway::launcher
