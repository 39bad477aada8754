/// The text in `trials.lock`: which process manages the ensemble.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/process.h"

namespace slipway::ensemble {

struct Holder {
  ProcessIdentity process;
  std::string host;
};

/// This process, as one line of JSON.
std::string DescribeThisProcess();
/// Nothing when the file is missing, empty or unreadable.
std::optional<Holder> ReadHolder(const std::filesystem::path& lock);
/// On this host: exactly that process runs. On another host nobody can tell, so yes.
bool MayBeAlive(const Holder& holder);

}  // namespace slipway::ensemble
