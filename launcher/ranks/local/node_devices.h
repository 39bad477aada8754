/// The GPUs of a node, by the names that CUDA, ROCm, OpenCL and oneAPI use.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/environment.h"

namespace slipway::launcher {

/// The variables that select a program's GPUs: CUDA, ROCm, OpenCL on AMD's, oneAPI. Slurm writes the same list into
/// all.
inline constexpr std::array kDeviceVariables{"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL",
                                             "ZE_AFFINITY_MASK"};

/// The names of a node's devices in one variable: numbers, or names such as GPU-8932f937.
struct DeviceList {
  std::string variable;
  std::vector<std::string> names;
};

struct NodeDevices {
  std::vector<DeviceList> lists;  ///< equally long: the n-th of each is the n-th device
  std::string from = {};          ///< the source of the names: "CUDA_VISIBLE_DEVICES=0,1", "/dev/nvidia*"

  int count() const { return lists.empty() ? 0 : static_cast<int>(lists.front().names.size()); }
  /// The names in the first list.
  std::vector<std::string> names() const { return lists.empty() ? std::vector<std::string>{} : lists.front().names; }
  /// Up to `count` devices, from the one at `first` on.
  NodeDevices Part(int first, int count) const;
  /// The devices with these names in the first list, in its order.
  NodeDevices Called(const std::vector<std::string>& names) const;
};

using DeviceVariables = std::vector<std::pair<std::string, std::string>>;

/// The variables that make a program see these devices, and no others.
DeviceVariables VariablesFor(const NodeDevices& devices);

/// The variables of each of `ranks` ranks: equal contiguous parts of `devices`. Empty when there are fewer devices than
/// ranks. Pure.
std::vector<DeviceVariables> ShareOut(const NodeDevices& devices, int ranks);

/// The devices that the variables name; none when no variable is set. A list ends at an entry that names no device,
/// such as "-1" or a repetition, as for CUDA. Of lists with different lengths the shortest counts; empty ones are
/// ignored. Pure.
NodeDevices DevicesNamedIn(const Environment& environment);

/// The devices below `root` that this process may use, by number: NVIDIA's, else AMD's, else Intel's discrete ones.
NodeDevices DevicesOfSystem(const std::filesystem::path& root = "/");

/// The devices of this process: from the variables if one is set, else from the system.
NodeDevices DevicesOfThisNode();

/// For users: "4 (CUDA_VISIBLE_DEVICES=0,1,2,3)", "none".
std::string Describe(const NodeDevices& devices);

}  // namespace slipway::launcher
