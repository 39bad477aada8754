#include "bench/simulate/platform.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "bench/simulate/costs.h"

namespace slipway::bench {
namespace {

// Notation of the shapes:
// - Dragonfly: groups,links;chassis,links;routers,links;nodes of a router. Links join two routers of a chassis, two
//   routers at the same place of two chassis, and two groups, as in Cray's XC.
// - Fat tree, three levels: nodes or switches below each switch, those above each, links between two. Half of the ports
//   of a switch lead up, so the tree does not narrow.
//
// SimGrid 3.32 crashes on some other dragonflies, such as one of 22 groups of 6 chassis.
const std::array kMachines{
    Machine{"dragonfly", "DRAGONFLY", "3,4;6,3;16,1;4", 3 * 6 * 16 * 4, 10e9, 325e-9},
    Machine{"dragonfly", "DRAGONFLY", "16,4;8,3;16,1;4", 16 * 8 * 16 * 4, 10e9, 325e-9},
    Machine{"fat_tree", "FAT_TREE", "3;9,9,18;1,9,9;1,1,1", 9 * 9 * 18, 12.5e9, 250e-9},
    Machine{"fat_tree", "FAT_TREE", "3;18,18,36;1,18,18;1,1,1", 18 * 18 * 36, 12.5e9, 250e-9},
};

}  // namespace

std::vector<std::string> Networks() { return {"dragonfly", "fat_tree"}; }

std::optional<Machine> MachineFor(std::string_view network, int nodes) {
  const auto fits = [&](const Machine& machine) { return machine.network == network && machine.nodes >= nodes; };
  const auto found = std::find_if(kMachines.begin(), kMachines.end(), fits);
  return found == kMachines.end() ? std::nullopt : std::optional(*found);
}

std::string PlatformOf(const Machine& machine, int cores) {
  return fmt::format(R"(<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="{}" prefix="node-" suffix="" radical="0-{}" speed="{}f" core="{}" bw="{}Bps" lat="{}s"
           loopback_bw="{}Bps" loopback_lat="{}s" topology="{}" topo_parameters="{}"/>
</platform>
)",
                     machine.network, machine.nodes - 1, kCombineRate, cores, machine.bandwidth, machine.latency,
                     kCopyRate, kCopyLatency, machine.topology, machine.parameters);
}

}  // namespace slipway::bench
