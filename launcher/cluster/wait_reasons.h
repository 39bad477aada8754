/// Why a Slurm job waits, or why it ended, in words for who submitted it. Pure.
///
/// Source: enum job_state_reason of slurm.h; the names are those that squeue shows.
#pragma once

#include <string>
#include <string_view>

namespace slipway::launcher {

struct ReasonInWords {
  std::string sentence;   ///< what holds the job up
  std::string next_step;  ///< what its owner can do; empty when it is only to wait
};

/// `reason` is Slurm's name ("Priority", "AssocGrpCpuLimit"). About 200 of them are limits whose names are composed
/// (whose limit, of what, per what); those are taken apart. A name that we do not know is shown as it is.
ReasonInWords ExplainReason(std::string_view reason);

}  // namespace slipway::launcher
