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
/// The holder in the text of the lock file. Nothing when the file is missing, empty or unreadable.
std::optional<Holder> ReadHolder(const std::filesystem::path& lock);
/// Whether the holder may still run. On this host: exactly that process runs. For another host: always true, because
/// this host cannot check.
bool MayBeAlive(const Holder& holder);

}  // namespace slipway::ensemble
