/// Why the GPUs of a node do not combine a team's tensors themselves.
#pragma once

#include <variant>

#include "core/cpu_work.h"

namespace slipway::runtime {

enum class DirectObstacle { kOperation, kDtype, kNodes, kAmd, kMemory, kKernel, kWrongSums, kFull, kOrder };

/// Work that is the CPU's, or what the tensors, ranks and GPUs do not allow.
using WithoutDirect = std::variant<CpuWork, DirectObstacle>;

/// For comm.json and messages: "clip_norm is set".
const char* WordsOf(const WithoutDirect& why);

}  // namespace slipway::runtime
