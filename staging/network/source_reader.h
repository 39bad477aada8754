/// Where a node reads the chunks that are its own: the sources, or the copy that it has already.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/files.h"
#include "staging/plan/plan.h"
#include "staging/plan/source_stat.h"

namespace slipway::staging {

/// Called by several threads. Errors: Error, naming the file.
class SourceReader {
 public:
  virtual ~SourceReader() = default;
  /// What stays the same as long as the file does not change: its ctime, or 0 where that says nothing.
  virtual std::int64_t Open(std::uint32_t file) = 0;
  /// All of `out`, from `offset` on.
  virtual void Read(std::uint32_t file, std::uint64_t offset, std::span<std::byte> out) = 0;
  /// All that this node reads of the file has been read: it must be what Open() found.
  virtual void Close(std::uint32_t file) = 0;
};

/// Files that are kept open from Open() to Close().
class FileReader : public SourceReader {
 public:
  explicit FileReader(std::vector<std::filesystem::path> paths) : paths_(std::move(paths)) {}
  std::int64_t Open(std::uint32_t file) override;
  void Read(std::uint32_t file, std::uint64_t offset, std::span<std::byte> out) override;
  void Close(std::uint32_t file) override;

 protected:
  const std::filesystem::path& PathOf(std::uint32_t file) const { return paths_[file]; }
  /// Of a file that is open.
  std::shared_ptr<UniqueFd> DescriptorOf(std::uint32_t file);

 private:
  const std::vector<std::filesystem::path> paths_;
  std::mutex mutex_;
  std::map<std::uint32_t, std::shared_ptr<UniqueFd>> open_;
};

/// The planned sources; a change between the plan and the last byte is an error.
std::unique_ptr<SourceReader> ReadSources(const StagingPlan& plan);

/// The published copy in `directory`. Its bytes are compared with its manifest before they go out.
/// Errors: also when the manifest cannot be read.
std::unique_ptr<SourceReader> ReadStagedCopy(const StagingPlan& plan, const std::filesystem::path& directory);

}  // namespace slipway::staging
