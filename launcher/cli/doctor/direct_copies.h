/// Check "direct copies": whether ranks of one node may copy from each other's memory.
#pragma once

#include "launcher/cli/doctor/finding.h"

namespace slipway::launcher {

struct DirectCopiesFacts {
  bool possible = false;
  int reason = 0;  ///< errno of the kernel, when not
};

/// Between two children of this process, as ranks are children of one launcher. Forks.
DirectCopiesFacts ProbeDirectCopies();
/// Pure. Without them, memory that programs bring is exchanged through shared memory.
Findings Judge(const DirectCopiesFacts& facts);

}  // namespace slipway::launcher
