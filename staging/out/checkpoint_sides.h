/// The two sides of the mover as real directories.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "staging/out/best_checkpoint.h"
#include "staging/out/checkpoint_mover.h"
#include "staging/out/stage_out.h"

namespace slipway::staging {

class CheckpointDirectories final : public CheckpointSides {
 public:
  /// `tier` and `shared` hold `step-*`; either may be missing yet. `options` apply to each copy.
  CheckpointDirectories(std::filesystem::path tier, std::filesystem::path shared, StageOutOptions options);

  /// What a mover of these directories left that was killed: copies, removals, and links that keep space in the tier.
  /// Not while another one is at work.
  void RemoveLeftovers() const;

  CheckpointEntries Tier() override;
  CheckpointEntries Shared(int keep) override;
  /// Copies from hard links, so that a program that removes its older checkpoints does not stop the copy.
  MoveOutcome Move(const CheckpointEntry& entry) override;
  /// Copies a torn one of the tier as it is to `torn-step-*` on the shared side, which no run takes for a checkpoint.
  /// Errors: those of StageOutDirectory.
  TornCheckpoint KeepTorn(const CheckpointEntry& entry);
  /// Whether KeepTorn has copied it before, byte for byte. Cost: reads both where there is a copy. Errors: those of
  /// WorkOf.
  bool HasKept(const CheckpointEntry& entry) const;
  void RemoveFromTier(const CheckpointEntry& entry) override;
  void RemoveFromShared(const CheckpointEntry& entry) override;

 private:
  using Key = std::pair<std::uint64_t, std::uint64_t>;  // step, fingerprint

  std::filesystem::path pins() const { return tier_.parent_path() / "pinned"; }
  std::filesystem::path PlaceOfTorn(const CheckpointEntry& entry) const;
  bool IsVerified(const CheckpointEntry& entry);
  bool IsDamaged(const std::filesystem::path& side, const Key& key) const;
  const std::optional<CheckpointValues>& ValuesOf(const std::filesystem::path& side, const CheckpointEntry& entry);
  std::optional<Key> Best();
  void MarkBest(CheckpointEntries& entries);

  std::filesystem::path tier_;
  std::filesystem::path shared_;
  StageOutOptions options_;
  std::map<Key, std::string> torn_;                        // of the tier, with the reason
  std::map<Key, bool> whole_;                              // of the shared side, as found when it was read
  std::map<Key, std::optional<CheckpointValues>> values_;  // of both sides, as read once
};

}  // namespace slipway::staging
