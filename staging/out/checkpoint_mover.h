/// Moves a run's checkpoints out of a tier while the training goes on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/units.h"

namespace slipway::staging {

/// What to move out of a tier and what to remove, decided from what lies on both sides. Pure functions.
///
/// Words: the *tier* is where the program writes its checkpoints; the *shared* side is the run folder. A checkpoint is
/// *confirmed* when the shared side holds the same one whole. The promises, whatever fails and whenever it ends:
///   - the shared side, once it has a whole checkpoint, always has one, and its newest never becomes older;
///   - the tier loses none that is neither confirmed nor older than a whole one on the shared side;
///   - neither side loses the best one.
struct CheckpointEntry {
  std::uint64_t step = 0;
  std::uint64_t fingerprint = 0;  ///< of its manifest: a step that is written again is another checkpoint
  bool whole = false;             ///< tier: not known to be torn; shared: verified
  bool best = false;              ///< of both sides, by the rule of the program: it stays
  bool operator==(const CheckpointEntry&) const = default;
};

/// Newest first.
using CheckpointEntries = std::vector<CheckpointEntry>;

/// Of the tier, those worth moving, newest first: newer than what is confirmed, or written again, or the best one.
CheckpointEntries WorthMoving(const CheckpointEntries& tier, const CheckpointEntries& shared);

/// Those that the tier need not hold any longer.
CheckpointEntries SuperfluousInTier(const CheckpointEntries& tier, const CheckpointEntries& shared, int keep);

/// Of the tier, those known to be torn that no whole one on the shared side replaces: not to be lost.
CheckpointEntries TornToKeep(const CheckpointEntries& tier, const CheckpointEntries& shared);

/// Those that are older than the `keep` newest whole ones (at least one), but for the best one.
CheckpointEntries SuperfluousOnShared(const CheckpointEntries& shared, int keep);

struct MovedCheckpoint {
  std::uint64_t step = 0;
  Bytes bytes;
  Seconds elapsed{};
};

enum class MoveEnd {
  kMoved,  ///< published on the shared side, confirmed
  kGone,   ///< the program has removed or rewritten it meanwhile
  kTorn    ///< its files are not those of its manifest
};

struct TornCheckpoint {
  std::uint64_t step = 0;
  std::string reason{};             ///< "'w.bin' has 12 bytes instead of 20"
  std::filesystem::path kept_in{};  ///< where it was copied as it is; empty: not copied
};

struct MoveOutcome {
  MoveEnd end = MoveEnd::kMoved;
  MovedCheckpoint moved{};
  std::string reason{};  ///< of kTorn
};

/// The two sides, as far as the mover touches them: real directories, or in tests a model that fails and ends anywhere.
class CheckpointSides {
 public:
  virtual ~CheckpointSides() = default;
  virtual CheckpointEntries Tier() = 0;
  /// With `keep` whole ones and the best one verified; other older ones may be left unverified.
  virtual CheckpointEntries Shared(int keep) = 0;
  /// Errors: Error; then the shared side is as it was.
  virtual MoveOutcome Move(const CheckpointEntry& entry) = 0;
  virtual void RemoveFromTier(const CheckpointEntry& entry) = 0;
  virtual void RemoveFromShared(const CheckpointEntry& entry) = 0;
};

enum class Thoroughness {
  kWhileTraining,  ///< what fails is tried again by a later round
  kAtTheEnd        ///< when the newest cannot be moved, an older one is better than none
};

struct MoverRound {
  std::optional<MovedCheckpoint> moved;
  std::vector<TornCheckpoint> torn;  ///< found in this round
  std::optional<Error> failure;      ///< the first
};

class CheckpointMover {
 public:
  CheckpointMover(CheckpointSides& sides, int keep) : sides_(sides), keep_(keep) {}

  /// One look at both sides: moves the newest checkpoint that is worth it, then removes what is superfluous.
  /// Repeatable. Throws nothing but what ends the work (Error of kind kInterrupted).
  MoverRound Round(Thoroughness thoroughness);

  /// True when nothing is left that is worth moving. Cost: without a Move before, reads the newest on the shared side
  /// whole: the last look at it before the tier's copy goes. Errors: SystemError.
  bool Settled();

 private:
  void Move(Thoroughness thoroughness, MoverRound& round);
  void RemoveSuperfluous();

  CheckpointSides& sides_;
  int keep_;
};

}  // namespace slipway::staging
