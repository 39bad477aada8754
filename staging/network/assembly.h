/// Puts the chunks of files together in a directory, and checks them as a local copy does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "core/files.h"
#include "core/unique_handle.h"
#include "staging/copy/copy.h"
#include "staging/formats/stream_check.h"
#include "staging/network/chunk.h"
#include "staging/plan/plan.h"

namespace slipway::staging {

/// Files that are written by turns, of which only some are open.
class OpenFiles {
 public:
  explicit OpenFiles(std::size_t most) : most_(most) {}

  /// Takes a file that was opened for reading and writing; at first each must be given so.
  void Keep(std::uint32_t file, UniqueFd fd);
  /// Valid until the next call. Opened again when it was closed meanwhile: the file is still there, and no link.
  /// Errors: SystemError naming the path.
  int Get(std::uint32_t file, const std::filesystem::path& path);
  void Close(std::uint32_t file) { open_.erase(file); }

 private:
  struct Opened {
    UniqueFd fd;
    std::uint64_t used = 0;
  };

  const std::size_t most_;
  std::map<std::uint32_t, Opened> open_;
  std::uint64_t uses_ = 0;
};

/// One thread. Chunks of one block must come in order; blocks and files may come in any.
class Assembly {
 public:
  /// The directories of the files are there. `on_step` is called before each step that takes time; it may throw.
  Assembly(const StagingPlan& plan, std::filesystem::path directory, const CopyOptions& options,
           std::function<void()> on_step);
  ~Assembly();

  /// Writes the chunk, and checks the file as far as it is there without a gap.
  /// Errors: Error(kEnvironment): the format is damaged, the source changed between two readers' opening it;
  ///         SystemError: ENOSPC among them.
  void Add(const Chunk& chunk);
  bool complete() const { return left_ == 0; }
  std::uint64_t bytes() const { return bytes_; }
  std::vector<CopiedFile> Take() { return std::move(results_); }

 private:
  struct Entry;

  Entry& EntryOf(const Chunk& chunk);
  UniqueFd Create(const std::filesystem::path& path, Bytes size);
  void Reserve(int fd, Bytes bytes, const std::filesystem::path& path, std::uint64_t offset);
  void Note(Entry& entry, const Chunk& chunk);
  void Check(Entry& entry, const Chunk& chunk);
  void CheckWritten(int fd, Entry& entry, std::uint64_t end);
  void Finish(std::uint32_t file, Entry& entry);

  const StagingPlan& plan_;
  const std::filesystem::path directory_;
  const CopyOptions& options_;
  const std::function<void()> on_step_;
  std::map<std::uint32_t, std::unique_ptr<Entry>> open_;
  OpenFiles files_;
  std::vector<CopiedFile> results_;
  std::size_t left_;
  std::uint64_t bytes_ = 0;
  std::vector<std::byte> buffer_;
  MemoryAllowance memory_;
  bool in_memory_;
};

}  // namespace slipway::staging
