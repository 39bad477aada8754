/// Whether a folder takes more data, found by trying: statfs knows nothing of quotas and of disks that have failed.
#pragma once

#include <filesystem>
#include <string>

#include "core/units.h"

namespace slipway {

/// errno of writing a file of `wanted` bytes into `folder`; 0: it could be written. The file is removed again.
int ErrorOfWriting(const std::filesystem::path& folder, Bytes wanted);

/// The disk is full, or the quota is used up.
bool MeansDiskFull(int error);

/// "No space left on device"; empty: there is space for `wanted` bytes, or they fail for another reason.
std::string WhyNoDiskSpace(const std::filesystem::path& folder, Bytes wanted);

/// Whether so little space is left that a trial write is worth its cost. By statfs alone, which costs next to nothing.
bool MayLackSpace(const std::filesystem::path& folder, Bytes wanted);

}  // namespace slipway
