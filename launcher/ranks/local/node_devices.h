/// The GPUs of a node, by the names that CUDA, ROCm, OpenCL and oneAPI use.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/environment.h"

namespace slipway::launcher {

/// The variables that select a program's GPUs: CUDA, HIP, ROCm, OpenCL on AMD's, oneAPI. Slurm writes the same list
/// into all but HIP's.
inline constexpr std::array kDeviceVariables{"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
                                             "GPU_DEVICE_ORDINAL", "ZE_AFFINITY_MASK"};

/// What the variables of a node count.
enum class DeviceNumbers {
  kOfNode,     ///< each of them the devices of the node
  kInsideRocr  ///< AMD: ROCR_VISIBLE_DEVICES those of the node, the others what that has left, from 0
};

/// The names of a node's devices in one variable: numbers, or names such as GPU-8932f937.
struct DeviceList {
  std::string variable;
  std::vector<std::string> names;
};

struct NodeDevices {
  std::vector<DeviceList> lists;          ///< equally long: the n-th of each is the n-th device
  std::string from = {};                  ///< the source of the names: "CUDA_VISIBLE_DEVICES=0,1", "/dev/nvidia*"
  std::vector<std::string> counted = {};  ///< variables that count these devices from 0: the others of kInsideRocr

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

/// The devices that the variables name; none when no variable is set. Lists are read as by CUDA: blanks around an entry
/// do not count, an entry that names no device, such as "-1", ends the list, and a repetition empties it. Of lists with
/// different lengths the shortest counts; empty ones are ignored. With kInsideRocr the lists are ROCR's and none other:
/// HIP's selects from it, else CUDA's, else OpenCL's. Pure.
NodeDevices DevicesNamedIn(const Environment& environment, DeviceNumbers numbers = DeviceNumbers::kOfNode);

/// kInsideRocr with AMD's driver below `root`, unless NVIDIA's is there, too.
DeviceNumbers DeviceNumbersOfSystem(const std::filesystem::path& root = "/");

/// The devices below `root` that this process may use, by number: NVIDIA's, else AMD's, else Intel's discrete ones.
NodeDevices DevicesOfSystem(const std::filesystem::path& root = "/");

/// Whether one of the variables is set.
bool NamesDevices(const Environment& environment);

/// The devices of this process: from the variables if one is set, else from the system.
NodeDevices DevicesOfThisNode();

/// For users: "4 (CUDA_VISIBLE_DEVICES=0,1,2,3)", "none".
std::string Describe(const NodeDevices& devices);

}  // namespace slipway::launcher
