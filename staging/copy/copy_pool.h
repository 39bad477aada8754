/// Copies the files of a dataset with several threads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "staging/copy/copier.h"
#include "staging/formats/hdf5.h"

namespace slipway::staging {

/// The default Copier.
///
/// Cost: up to 64 threads for small files, 8 for large ones, with one file each at a time; kCopyBlock of memory each.
std::vector<CopiedFile> CopyAll(const StagingPlan& plan, const std::filesystem::path& directory,
                                const CopyOptions& copy, const StageOptions& options);

/// Reads all copies again, from the medium where the file system can, and compares them.
/// Errors: Error(kEnvironment) naming the file whose copy differs; Error(kInterrupted).
void CompareAll(const StagingPlan& plan, const std::filesystem::path& directory, const std::vector<CopiedFile>& copied,
                const StageOptions& options);

/// For a copy in `directory` whose block of kCrcBlock bytes, read back, is not what was written.
[[noreturn]] void ThrowDiffers(const SourceFile& file, const std::filesystem::path& directory, std::uint64_t block);

/// Compares the checksums inside all copies. The result is the sum over all files; what was not looked at is named by
/// file and dataset. Errors: those of CompareOwnSums; Error(kInterrupted).
Hdf5Verification CompareAllOwnSums(const StagingPlan& plan, const std::filesystem::path& directory,
                                   const StageOptions& options);

/// Throws Error(kInterrupted) when the user has ended the staging.
void CheckCancelled(const StagingPlan& plan, const StageOptions& options);

}  // namespace slipway::staging
