/// Names of files as manifests and listings say them: relative to the dataset's directory.
#pragma once

#include <filesystem>

namespace slipway::staging {

/// False for a name that leads out of its directory, or is none. Others may have written it; links are not looked at.
bool StaysInside(const std::filesystem::path& name);

}  // namespace slipway::staging
