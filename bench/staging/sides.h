/// The programs that copy one data set, each as a process of its own.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "staging/formats/stream_check.h"

namespace slipway::bench {

struct Side {
  std::string name;  ///< "slipway", "cp -r", ...
  std::vector<std::string> (*command)(const std::filesystem::path& source, const std::filesystem::path& target,
                                      staging::DataFormat format);
};

/// Slipway first, then the peers. Whether a peer is installed: IsInstalled().
const std::vector<Side>& Sides();
bool IsInstalled(const Side& side);

struct RunTime {
  double wall_s = 0;
  double processor_s = 0;  ///< of all threads, user and system
};

/// Of the whole process; `target` is a directory that it makes, and that is removed again (not timed).
/// Errors: Error when it does not end with 0.
RunTime TimeOf(const Side& side, const std::filesystem::path& source, const std::filesystem::path& target,
               staging::DataFormat format);

}  // namespace slipway::bench
