/// The control groups that a process is in, and the processors that they leave to it.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace slipway {

/// Where the kernel shows control groups; tests name other places.
struct ControlGroupPaths {
  std::filesystem::path membership = "/proc/self/cgroup";
  std::filesystem::path mount = "/sys/fs/cgroup";
};

struct ControlGroup {
  enum class Version { kFirst, kSecond };
  std::filesystem::path folder;
  Version version = Version::kSecond;
};

/// Those in which `controller` ("memory") may limit this process: every level up to the root, as a limit may stand at
/// any. Slurm sets one for the job and one for the step. Of both versions. Errors: SystemError for a membership that is
/// there and cannot be read.
std::vector<ControlGroup> ControlGroupsOf(std::string_view controller, const ControlGroupPaths& paths = {});

/// How many processors' time the process may use, with all others of its control groups: 1.5 for 150 ms in 100 ms.
/// Infinity where there is no limit, and where it cannot be read: it is a hint. Cost: some tens of microseconds.
double ProcessorQuota(const ControlGroupPaths& paths = {}) noexcept;

}  // namespace slipway
