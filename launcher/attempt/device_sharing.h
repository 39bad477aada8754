/// Which GPUs the ranks of a job see.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "launcher/ranks/local/node_devices.h"
#include "launcher/spec/spec.h"

namespace slipway::launcher {

/// A node with the devices that the ranks of one job have there: all of its job, or those of a trial.
struct DeviceHost {
  int node = 0;
  std::string name;
  NodeDevices devices;
  int ranks = 1;
};

struct DeviceSharing {
  std::map<int, std::vector<DeviceVariables>> devices_of;  ///< RankLaunch::devices_of
  std::string why_not;                                     ///< of the first node that has too few
};

/// Each rank sees `launch.gpus_per_rank` of its node's; with `bind: none`, or when trials ask for none, all that are
/// there. The ranks of a node that has too few see what it shows them. Pure.
DeviceSharing ShareDevices(const Spec& spec, const std::vector<DeviceHost>& hosts);

}  // namespace slipway::launcher
