/// Copies the files of a dataset with a few threads.
#pragma once

#include <filesystem>
#include <vector>

#include "staging/copy/copier.h"

namespace slipway::staging {

/// Copies all files of `plan` into `directory`, where they are reserved already; with an empty `directory` they are
/// only read and checked.
///
/// Result: one entry for each file, in the plan's order.
/// Cost:   min(4, processors) threads, one file each at a time, one buffer of kCopyBlock each.
/// Errors: the first that a file met, after all threads have ended; Error(kInterrupted) when cancelled.
std::vector<CopiedFile> CopyAll(const StagingPlan& plan, const std::filesystem::path& directory,
                                const CopyOptions& copy, const StageOptions& options);

/// Throws Error(kInterrupted) when the user has ended the staging.
void CheckCancelled(const StagingPlan& plan, const StageOptions& options);

}  // namespace slipway::staging
