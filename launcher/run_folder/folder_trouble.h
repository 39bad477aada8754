/// What may have kept a manager from writing into its run folder.
#pragma once

#include <filesystem>
#include <string>

namespace slipway::launcher {

/// "its run folder cannot be written to: No space left on device"; empty: it can, or this user may not. Found by
/// trying, which tells of quotas and of disks that have failed, too. Cost: makes and removes a file.
std::string TroubleOf(const std::filesystem::path& folder);

}  // namespace slipway::launcher
