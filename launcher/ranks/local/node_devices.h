/// The GPUs of a node, by the names that the libraries of their makers know them by.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/environment.h"

namespace slipway::launcher {

/// They tell a program which GPUs are its own: CUDA, ROCm, OpenCL on AMD's, oneAPI. Slurm writes the same list into
/// all.
inline constexpr std::array kDeviceVariables{"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL",
                                             "ZE_AFFINITY_MASK"};

/// What one variable calls the devices of a node: numbers, or names such as GPU-8932f937.
struct DeviceList {
  std::string variable;
  std::vector<std::string> names;
};

struct NodeDevices {
  std::vector<DeviceList> lists;  ///< equally long: the n-th of each is the n-th device
  std::string from = {};          ///< who named them, in words: "CUDA_VISIBLE_DEVICES=0,1", "/dev/nvidia*"

  int count() const { return lists.empty() ? 0 : static_cast<int>(lists.front().names.size()); }
  /// As the first list has them.
  std::vector<std::string> names() const { return lists.empty() ? std::vector<std::string>{} : lists.front().names; }
  /// `count` of them from the one at `first` on, as far as they are there.
  NodeDevices Part(int first, int count) const;
  /// Those called so in the first list, in their order there.
  NodeDevices Called(const std::vector<std::string>& names) const;
};

using DeviceVariables = std::vector<std::pair<std::string, std::string>>;

/// What a program is to find in its environment in order to see these, and no others.
DeviceVariables VariablesFor(const NodeDevices& devices);

/// What each of `ranks` ranks of a node sees of `devices`: an equal run of them, in their order. Empty when they cannot
/// have one each. Pure.
std::vector<DeviceVariables> ShareOut(const NodeDevices& devices, int ranks);

/// Nothing when no variable is set. A list ends at what names no device, as it does for CUDA: "-1", a repetition. Where
/// lists differ in length the shortest counts; empty ones do not. Pure.
NodeDevices DevicesNamedIn(const Environment& environment);

/// What this process may use of the devices whose files are below `root`: NVIDIA's, else AMD's, else Intel's that are
/// no part of a processor; by number.
NodeDevices DevicesOfSystem(const std::filesystem::path& root = "/");

/// Of this process: what the variables say, as soon as one is set; else what the system has.
NodeDevices DevicesOfThisNode();

/// "4 (CUDA_VISIBLE_DEVICES=0,1,2,3)", "none": for people.
std::string Describe(const NodeDevices& devices);

}  // namespace slipway::launcher
