/// Which file a record lies in, when records are counted over all files of a dataset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace slipway::staging {

class RecordBorders {
 public:
  struct Place {
    std::size_t file;
    std::uint64_t record;  ///< counted in the file
  };

  /// Errors: Error(kEnvironment) naming `path` when the records of all files cannot be counted.
  void AddFile(const std::filesystem::path& path, std::uint64_t records);
  std::uint64_t count() const { return ends_.empty() ? 0 : ends_.back(); }
  /// The record number after the last of each file, ascending.
  const std::vector<std::uint64_t>& ends() const { return ends_; }
  std::uint64_t FirstOf(std::size_t file) const { return file == 0 ? 0 : ends_[file - 1]; }
  std::uint64_t CountOf(std::size_t file) const { return ends_[file] - FirstOf(file); }
  /// `record` < count().
  Place Find(std::uint64_t record) const;

 private:
  std::vector<std::uint64_t> ends_;
};

}  // namespace slipway::staging
