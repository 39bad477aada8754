/// Puts the chunks of files together in a directory, and checks them as a local copy does.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "core/files.h"
#include "staging/copy/copy.h"
#include "staging/formats/stream_check.h"
#include "staging/network/chunk.h"
#include "staging/plan/plan.h"

namespace slipway::staging {

/// Told before each step that takes time; may throw to stop. A step that is not timed may last: a sync of a large file.
enum class AssemblyStep { kTimed, kUntimed };
using OnAssemblyStep = std::function<void(AssemblyStep)>;

/// One thread. Chunks of one block must come in order; blocks and files may come in any.
class Assembly {
 public:
  /// The files are reserved in `directory` already.
  Assembly(const StagingPlan& plan, std::filesystem::path directory, const CopyOptions& options,
           OnAssemblyStep on_step);
  ~Assembly();

  /// Writes the chunk, and checks the file as far as it is there without a gap.
  /// Errors: Error(kEnvironment): the format is damaged, the source changed between two readers' opening it, the copy
  ///         read back differs (kFull); SystemError: ENOSPC among them.
  void Add(const Chunk& chunk);
  bool complete() const { return left_ == 0; }
  std::uint64_t bytes() const { return bytes_; }
  std::vector<CopiedFile> Take() { return std::move(results_); }

 private:
  struct Entry;

  Entry& EntryOf(const Chunk& chunk);
  void Note(Entry& entry, const Chunk& chunk);
  void Check(Entry& entry, const Chunk& chunk);
  void CheckWritten(Entry& entry, std::uint64_t end);
  void Finish(std::uint32_t file, Entry& entry);
  void Compare(std::uint32_t file, Entry& entry);

  const StagingPlan& plan_;
  const std::filesystem::path directory_;
  const CopyOptions& options_;
  const OnAssemblyStep on_step_;
  std::map<std::uint32_t, std::unique_ptr<Entry>> open_;
  std::vector<CopiedFile> results_;
  std::size_t left_;
  std::uint64_t bytes_ = 0;
  std::vector<std::byte> buffer_;
};

}  // namespace slipway::staging
