/// Finds out why a manager may have failed to write into its run folder.
#pragma once

#include <filesystem>
#include <string>

namespace slipway::launcher {

/// "its run folder cannot be written to: No space left on device"; empty: it can, or this user may not write to it. It
/// tries a write, which also detects quotas and failed disks. Cost: makes and removes a file.
std::string TroubleOf(const std::filesystem::path& folder);

}  // namespace slipway::launcher
