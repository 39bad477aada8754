#include "staging/out/checkpoint_mover.h"

namespace slipway::staging {

MoverRound CheckpointMover::Round(Thoroughness thoroughness) {
  MoverRound round;
  try {
    Move(thoroughness, round);
    RemoveSuperfluous();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInterrupted) throw;
    if (!round.failure) round.failure = error;
  }
  return round;
}

void CheckpointMover::Move(Thoroughness thoroughness, MoverRound& round) {
  for (const auto& entry : WorthMoving(sides_.Tier(), sides_.Shared(keep_))) {
    try {
      const auto outcome = sides_.Move(entry);
      if (outcome.end == MoveEnd::kTorn) round.torn.push_back(entry.step);
      if (outcome.end != MoveEnd::kMoved) continue;
      round.moved = outcome.moved;
      return;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kInterrupted) throw;
      if (!round.failure) round.failure = error;
      if (thoroughness == Thoroughness::kWhileTraining) return;
    }
  }
}

void CheckpointMover::RemoveSuperfluous() {
  const auto shared = sides_.Shared(keep_);
  for (const auto& entry : SuperfluousOnShared(shared, keep_)) sides_.RemoveFromShared(entry);
  for (const auto& entry : SuperfluousInTier(sides_.Tier(), shared, keep_)) sides_.RemoveFromTier(entry);
}

bool CheckpointMover::Settled() { return WorthMoving(sides_.Tier(), sides_.Shared(1)).empty(); }

}  // namespace slipway::staging
