/// Check "limits": the resource limits of this user.
#pragma once

#include <cstdint>
#include <optional>

#include "core/units.h"
#include "launcher/cli/doctor/finding.h"
#include "launcher/spec/spec.h"

namespace slipway::launcher {

struct LimitFacts {
  std::optional<std::uint64_t> open_files;  ///< nothing: no limit
  std::optional<std::uint64_t> processes;   ///< of this user; nothing: no limit
  int cores = 1;                            ///< that we may run on
  std::optional<Bytes> shared_memory;       ///< size of /dev/shm; nothing: there is none
  Bytes memory;                             ///< of the machine
  Bytes memory_left;                        ///< that the machine and our control groups leave
  Bytes machine_left;                       ///< that the machine alone would leave
};

LimitFacts ProbeLimits();
/// The limit of open files is judged by what a manager of the experiment needs, when that is on several nodes. Pure.
Findings Judge(const LimitFacts& facts, const Spec& experiment = {});

}  // namespace slipway::launcher
