/// Resuming: what an interrupted run left in its private directory, and the journal of what this run puts there.
///
/// A private directory is taken over if its stage lock is free and its journal fits the plan. Then only what is missing
/// is read from the sources. Nothing kept is trusted: the copier reads every kept block in the copy and compares it
/// with the journal's CRC. It also feeds the block to the check of the format, which sees the file from its first byte.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "staging/copy/copy.h"
#include "staging/dataset/journal.h"
#include "staging/generation/owner.h"
#include "staging/plan/plan.h"

namespace slipway::staging {

struct Leftover {
  std::vector<KeptFile> kept;       ///< one for each file of the plan, or empty: nothing is of use
  std::uint64_t journal_bytes = 0;  ///< the whole entries
};

/// Cost: one read of the journal.
Leftover ReadLeftover(const std::filesystem::path& directory, const StagingPlan& plan);

/// Writes the journal of `directory`, after what is kept.
/// Errors of all reports: Error(kBusy) when another process has taken the directory over; SystemError.
class JournalArrivals : public Arrivals {
 public:
  JournalArrivals(const std::filesystem::path& directory, const StagingPlan& plan, const Leftover& leftover,
                  const Ownership& owner);

  void FileStarted(std::size_t file, std::int64_t source_ctime_ns) override;
  void BlockDone(std::size_t file, std::uint64_t block, std::uint32_t crc32c) override;
  void FileDone(std::size_t file, const CopiedFile& copied) override;
  void Flush() { writer_.Flush(); }
  /// From now on a complete file is in the journal when FileDone returns: readers wait for it. Cost: a write for each.
  void TellAtOnce() { at_once_ = true; }

 private:
  JournalWriter writer_;
  const Ownership& owner_;
  bool at_once_ = false;
};

}  // namespace slipway::staging
