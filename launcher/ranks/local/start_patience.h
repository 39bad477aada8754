/// How long a start may take before it counts as failed, unless site.patience.start says otherwise.
#pragma once

#include <chrono>

namespace slipway::launcher {

/// From the order until the program runs; of several ranks, until all stand at their gate. A file system that stalls
/// may delay it by tens of seconds. On 1,000 nodes the daemons of mpirun alone take some.
inline constexpr std::chrono::seconds kStartPatience{90};

}  // namespace slipway::launcher
