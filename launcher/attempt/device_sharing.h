/// Which GPUs the ranks of a job see.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "launcher/ranks/local/node_devices.h"
#include "launcher/spec/spec.h"

namespace slipway::launcher {

/// A node, and the devices that one job or trial may use there.
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

/// Gives each rank `launch.gpus_per_rank` devices of its node. With `bind: none`, or when trials ask for none, a rank
/// sees all devices. So do the ranks of a node that has too few. Pure.
DeviceSharing ShareDevices(const Spec& spec, const std::vector<DeviceHost>& hosts);

}  // namespace slipway::launcher
