/// The lease of a staged generation: while it is held the generation is not removed.
///
/// The file <tier>/.locks/<generation>.lease, locked shared by all users of the generation (generation.h). Runs hold it
/// for their ranks; readers outside of runs hold their own.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/files.h"

namespace slipway::staging {

/// The lock file in the tier at `root`.
std::filesystem::path LeaseLockOf(const std::filesystem::path& root, const std::string& generation);

using Lease = std::shared_ptr<const FileLock>;

/// A lease of the generation that `path` is, or lies in, noted as its use. Null where it lies in none, and where its
/// tier lets this user hold no lock. Errors: Error(kBusy) when another process is removing the generation.
Lease TakeLease(const std::filesystem::path& path);

/// Those of all generations that the files lie in.
std::vector<Lease> TakeLeases(std::span<const std::filesystem::path> files);

}  // namespace slipway::staging
