/// The place in a tier where one run or trial writes its checkpoints and results, and their way to its folder.
///
/// `TIER/checkpoints/` goes to `FOLDER/checkpoints/` (CheckpointMover), `TIER/outputs/` to `FOLDER/outputs/` (merged,
/// file by file). At the end, so does all else in `TIER/checkpoints/`: a program may save in its own way.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "staging/out/checkpoint_sides.h"
#include "staging/out/retry_pause.h"
#include "staging/out/stage_out.h"

namespace slipway::staging {

struct OutPlace {
  std::filesystem::path tier;
  std::filesystem::path folder;

  std::filesystem::path checkpoints() const { return tier / "checkpoints"; }
  std::filesystem::path outputs() const { return tier / "outputs"; }
};

/// Errors: Error(kEnvironment) when something that is no directory has its name: a program may have replaced it.
void RequireDirectory(const std::filesystem::path& path);

struct OutReport {
  std::vector<MovedCheckpoint> moved{};
  std::vector<TornCheckpoint> torn{};
  OutWork outputs{};               ///< that were copied, with what lay beside the checkpoints
  std::vector<Refused> refused{};  ///< Settle: what cannot be copied, by its name in `tier`; all else is in the folder
  std::optional<Error> failure{};  ///< the first
  bool waiting = false;            ///< Round: what failed now or before is tried again by a later one
};

/// For the user, without the tier's directory.
std::string Describe(const TornCheckpoint& torn);

class OutPlaceMover {
 public:
  /// `options` apply to each copy.
  OutPlaceMover(OutPlace place, int keep, StageOutOptions options);

  const OutPlace& place() const { return place_; }

  /// One look at the checkpoints, while the program runs. Before a checkpoint is moved, the present results are moved,
  /// except files that are being written. So a program that continues from the checkpoint has its results. Cheap when
  /// no checkpoint is new. After a failure the waits between attempts grow, for results and for checkpoints separately.
  OutReport Round();
  /// When it has ended: everything that is worth it. Without a failure nothing in the tier is needed any longer.
  /// To be sure of that, ask a mover that has made no rounds: it knows only what it reads now. Results that cannot be
  /// copied are a failure, after all else is copied. So is what lies beside the checkpoints.
  OutReport Settle();

  /// What Settle would copy, and what it would refuse: the newest checkpoint and the best one, those without a manifest
  /// and the results. Changes nothing. Errors: Error.
  OutWork Remaining();

 private:
  void RemoveLeftovers();
  bool HasNews(OutReport& report);
  void RoundOfOutputs(OutReport& report);
  void RoundOfCheckpoints(OutReport& report);
  void SettleCheckpoints(OutReport& report);
  /// Copies those of TornToKeep as they are. Errors: Error.
  void KeepTorn(OutReport& report);
  /// Adds a checkpoint to what Remaining returns. False when the whole checkpoint is refused.
  bool AddCheckpoint(const CheckpointEntry& entry, OutWork& work) const;
  /// Of what lies beside the checkpoints: under any other name, and not being written.
  StageOutOptions OptionsBesideCheckpoints() const;
  bool HasFilesBesideCheckpoints(const StageOutOptions& options) const;
  /// Returns what cannot be copied. Errors: those of StageOutDirectory.
  std::vector<Refused> MoveFilesBesideCheckpoints(OutReport& report) const;
  StageOutOptions MergeOptions(Changing changing, Unchanged unchanged) const;
  /// Returns what cannot be copied.
  std::vector<Refused> MoveOutputs(OutReport& report, const StageOutOptions& options);

  OutPlace place_;
  StageOutOptions options_;
  std::unique_ptr<CheckpointDirectories> sides_;
  CheckpointMover mover_;
  bool has_cleaned_ = false;
  CheckpointEntries seen_;                 // what the tier held at the last look
  std::optional<CheckpointEntries> done_;  // what it held when there was nothing left to do
  bool outputs_due_ = false;               // a checkpoint has come since they were last moved
  RetryPause outputs_pause_;
  RetryPause checkpoints_pause_;
};

/// Removes from the tier what is copied: everything but what is `refused` (OutReport). The program must have ended.
void RemoveCopied(const OutPlace& place, const std::vector<Refused>& refused);

}  // namespace slipway::staging
