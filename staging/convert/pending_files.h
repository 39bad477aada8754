/// A set of new files that appears together: all under their final names, or none.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace slipway::staging {

/// Files are written into a hidden directory beside their final place and renamed on Publish().
/// Without Publish() nothing remains. Readers may see a part of the set only during the renames themselves.
class PendingFiles {
 public:
  /// Creates `directory` when it is missing.
  explicit PendingFiles(std::filesystem::path directory);
  PendingFiles(const PendingFiles&) = delete;
  PendingFiles& operator=(const PendingFiles&) = delete;
  ~PendingFiles();

  /// Where to write the file that will be `name` in the directory.
  std::filesystem::path Add(std::string name);
  /// Gives the written and synced files their names, replacing older ones. Returns the final paths.
  /// Errors: SystemError naming the file whose place cannot be taken; the older files are then restored.
  std::vector<std::filesystem::path> Publish();
  /// Of all published files.
  std::uint64_t bytes() const { return bytes_; }

 private:
  void PublishOne(const std::string& name);
  void TakeBack(const std::string& name) noexcept;

  std::filesystem::path directory_;
  std::filesystem::path hidden_;
  std::vector<std::string> names_;
  std::uint64_t bytes_ = 0;
};

}  // namespace slipway::staging
