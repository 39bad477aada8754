/// The one entry of libslipway_slurm-<N>.so. No other part of Slipway is linked to libslurm.
///
/// libslurm may end the process, write to its standard streams or block for a minute. So only slipway-slurm loads this
/// library.
#pragma once

extern "C" {

/// Answers one request (see slurm_messages.h); the answer is from malloc. Not thread-safe.
__attribute__((visibility("default"))) char* slipway_slurm_answer(const char* request);
}

namespace slipway::launcher {
inline constexpr const char* kSlurmAnswerSymbol = "slipway_slurm_answer";
using SlurmAnswerFunction = decltype(&slipway_slurm_answer);
}  // namespace slipway::launcher
