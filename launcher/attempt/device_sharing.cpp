#include "launcher/attempt/device_sharing.h"

#include <fmt/format.h>

namespace slipway::launcher {

DeviceSharing ShareDevices(const Spec& spec, const std::vector<DeviceHost>& hosts) {
  const int each = spec.launch.bind == Bind::kNone ? 0 : spec.launch.gpus_per_rank;
  DeviceSharing sharing;
  for (const auto& [node, name, devices, ranks] : hosts) {
    const int wanted = spec.launch.gpus_per_rank * ranks;
    if (devices.count() < wanted) {
      if (!sharing.why_not.empty()) continue;
      sharing.why_not = fmt::format("ranks have no GPUs of their own: {} needs {} for its ranks, and has {}", name,
                                    wanted, Describe(devices));
    } else if (each > 0) {
      sharing.devices_of[node] = ShareOut(devices.Part(0, wanted), ranks);
    } else if (devices.count() > 0) {
      sharing.devices_of[node].assign(static_cast<std::size_t>(ranks), VariablesFor(devices));
    }
  }
  return sharing;
}

}  // namespace slipway::launcher
