/// What the disk gives without Slipway: the limits that the trial book is held against.
#pragma once

#include <filesystem>

namespace slipway::bench {

/// Commits a second of one row each by bare SQLite, WAL with synchronous=FULL as the trial book.
double SqliteCommitRate(const std::filesystem::path& folder, int commits);
/// 4 KiB by pwrite, then fdatasync, over and over in one file; a second.
double SyncRate(const std::filesystem::path& folder, int writes);

}  // namespace slipway::bench
