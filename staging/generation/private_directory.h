/// The directory of a staging at work, from the claim to the publishing rename.
#pragma once

#include <filesystem>

#include "core/error.h"
#include "core/unique_handle.h"
#include "core/units.h"
#include "staging/generation/generation.h"
#include "staging/generation/owner.h"
#include "staging/generation/resume.h"
#include "staging/plan/plan.h"

namespace slipway::staging {

/// Whether to keep what has arrived after `failure`, for the next run of the same plan. True when neither a source nor
/// the tier is to blame: the user ended it, or a read failed because of the network.
bool IsWorthResuming(const Error& failure);

/// What an earlier run left there stays, if it is usable. All is removed again unless it is published or kept.
class PrivateDirectory {
 public:
  /// Only while holding the stage lock, when no process is at work there (WhoWorksIn).
  /// Errors: Error(kBusy) when another machine begins at the same moment.
  PrivateDirectory(const Generation& generation, const StagingPlan& plan);
  PrivateDirectory(const PrivateDirectory&) = delete;
  PrivateDirectory& operator=(const PrivateDirectory&) = delete;
  ~PrivateDirectory();

  const std::filesystem::path& path() const { return path_; }
  const Leftover& leftover() const { return leftover_; }
  const Ownership& owner() const { return owner_; }

  /// Makes all files durable. To be called before the manifest is written, which says that they are there.
  /// Cost: one syncfs; on a network file system one fsync for each file. None in memory.
  void Sync();
  /// Errors: Error(kBusy) when another machine has taken the directory over; then it is left to that one.
  void Publish();
  /// Leaves what has arrived to the next run. Returns how much that is. 0: no whole block, or syncing failed; then all
  /// is removed. The kernel reports a failed sync only once.
  Bytes Keep();

 private:
  void Clear() const;
  void SyncAll() const;

  const Generation& generation_;
  const StagingPlan& plan_;
  const std::filesystem::path path_;
  Ownership owner_;
  Leftover leftover_;
  UniqueFd fd_;
  bool sync_failed_ = false;
  bool stays_ = false;
};

}  // namespace slipway::staging
