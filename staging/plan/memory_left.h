/// How much memory files in RAM may still take: they count against the machine and against the job's control groups.
#pragma once

#include <filesystem>

#include "core/units.h"

namespace slipway::staging {

/// Where the kernel says it; tests name other places.
struct MemorySources {
  std::filesystem::path meminfo = "/proc/meminfo";
  std::filesystem::path membership = "/proc/self/cgroup";
  std::filesystem::path cgroups = "/sys/fs/cgroup";
};

/// The smallest of MemAvailable and what the memory control groups (v1 and v2, every level up to the root) leave, less
/// a tenth: a full control group ends the training program, not the copy.
Bytes MemoryLeft(const MemorySources& sources = {});

}  // namespace slipway::staging
