/// The one entry of libslipway_slurm-<N>.so, the only part of Slipway that is linked to libslurm.
///
/// The library may end the process, write to its standard streams or block for a minute: only slipway-slurm loads this.
#pragma once

extern "C" {

/// Answers one request (see slurm_messages.h); the answer is from malloc. Not thread-safe.
__attribute__((visibility("default"))) char* slipway_slurm_answer(const char* request);
}

namespace slipway::launcher {
inline constexpr const char* kSlurmAnswerSymbol = "slipway_slurm_answer";
using SlurmAnswerFunction = decltype(&slipway_slurm_answer);
}  // namespace slipway::launcher
