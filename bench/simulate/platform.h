/// The simulated machines: their networks, and their description for SimGrid.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::bench {

/// A machine with one kind of link; every link works in both directions at once.
struct Machine {
  std::string network;     ///< "dragonfly" or "fat_tree"
  std::string topology;    ///< the same as SimGrid names it
  std::string parameters;  ///< its shape, in the notation of SimGrid's <cluster>
  int nodes = 0;
  double bandwidth = 0;  ///< of a link, bytes a second
  double latency = 0;    ///< of a link, seconds
};

std::vector<std::string> Networks();
/// The smallest machine with at least `nodes` nodes; nothing when none is large enough.
std::optional<Machine> MachineFor(std::string_view network, int nodes);

/// SimGrid's description of the machine: hosts node-0, node-1, ... with `cores` cores each.
std::string PlatformOf(const Machine& machine, int cores);

}  // namespace slipway::bench
