/// The place in a tier where one run or trial writes its checkpoints and results, and their way to its folder.
///
/// `TIER/checkpoints/` goes to `FOLDER/checkpoints/` (CheckpointMover), `TIER/outputs/` to `FOLDER/outputs/` (merged,
/// file by file).
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "staging/out/checkpoint_mover.h"
#include "staging/out/stage_out.h"

namespace slipway::staging {

struct OutPlace {
  std::filesystem::path tier;
  std::filesystem::path folder;

  std::filesystem::path checkpoints() const { return tier / "checkpoints"; }
  std::filesystem::path outputs() const { return tier / "outputs"; }
};

struct OutReport {
  std::vector<MovedCheckpoint> moved;
  std::vector<std::uint64_t> torn;
  OutWork outputs;  ///< that were copied
  std::optional<Error> failure;
};

class OutPlaceMover {
 public:
  /// `options` apply to each copy.
  OutPlaceMover(OutPlace place, int keep, StageOutOptions options);

  const OutPlace& place() const { return place_; }

  /// While the program runs: one look at the checkpoints. Before one is moved, the results that are there go, but for
  /// files that are being written: a program that continues from it has them. Cheap when no checkpoint is new.
  OutReport Round();
  /// When it has ended: everything that is worth it. Without a failure nothing in the tier is needed any longer.
  OutReport Settle();

  /// What Settle would copy: the newest checkpoint and the results. Errors: Error.
  OutWork Remaining();

 private:
  void SettleCheckpoints(OutReport& report);
  void MoveOutputs(OutReport& report, Changing changing);

  OutPlace place_;
  StageOutOptions options_;
  std::unique_ptr<CheckpointSides> sides_;
  CheckpointMover mover_;
  std::optional<CheckpointEntries> done_;  // what the tier held when there was nothing left to do
};

}  // namespace slipway::staging
