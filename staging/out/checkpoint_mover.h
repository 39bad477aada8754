/// Moves a run's checkpoints out of a tier while the training goes on.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/error.h"
#include "core/units.h"
#include "staging/out/mover_decision.h"

namespace slipway::staging {

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

struct MoveOutcome {
  MoveEnd end = MoveEnd::kMoved;
  MovedCheckpoint moved{};
};

/// The two sides, as far as the mover touches them: real directories, or in tests a model that fails and ends anywhere.
class CheckpointSides {
 public:
  virtual ~CheckpointSides() = default;
  virtual CheckpointEntries Tier() = 0;
  /// With `keep` whole ones verified; older ones may be left unverified.
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
  std::vector<std::uint64_t> torn;  ///< steps found torn in this round
  std::optional<Error> failure;     ///< the first
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
