/// Check "containers": the programs that `launch.container` could use.
#pragma once

#include <string>
#include <vector>

#include "launcher/cli/doctor/finding.h"
#include "launcher/ranks/local/container_command.h"

namespace slipway::launcher {

struct FoundRuntime {
  ContainerRuntime runtime;
  std::string version;  ///< the first line of what it says
};

/// Cost: each that is there is asked for its version.
std::vector<FoundRuntime> ProbeContainers();
/// Pure. A machine without any is in order.
Findings Judge(const std::vector<FoundRuntime>& found);

}  // namespace slipway::launcher
