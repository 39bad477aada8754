/// What the disk gives without Slipway: the limits that the trial book is held against.
#pragma once

#include <filesystem>
#include <memory>

namespace slipway::bench {

/// Commits of one row each by bare SQLite, WAL with synchronous=FULL as the trial book.
class SqliteCommits {
 public:
  explicit SqliteCommits(const std::filesystem::path& folder);
  ~SqliteCommits();
  void Commit();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// Of these a second.
double SqliteCommitRate(const std::filesystem::path& folder, int commits);
/// 4 KiB by pwrite, then fdatasync, over and over in one file; a second.
double SyncRate(const std::filesystem::path& folder, int writes);

}  // namespace slipway::bench
