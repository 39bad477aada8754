#include "staging/out/checkpoint_mover.h"

#include <algorithm>
#include <optional>

namespace slipway::staging {
namespace {

bool IsConfirmed(const CheckpointEntry& entry, const CheckpointEntries& shared) {
  return std::any_of(shared.begin(), shared.end(), [&](const CheckpointEntry& other) {
    return other.whole && other.step == entry.step && other.fingerprint == entry.fingerprint;
  });
}

std::optional<std::uint64_t> NewestWhole(const CheckpointEntries& entries) {
  const auto found = std::find_if(entries.begin(), entries.end(), [](const auto& entry) { return entry.whole; });
  if (found == entries.end()) return {};
  return found->step;
}

/// Those behind the `keep` newest whole ones, but for the best one.
CheckpointEntries Behind(const CheckpointEntries& entries, int keep) {
  CheckpointEntries behind;
  int whole = 0;
  for (const auto& entry : entries) {
    if (whole >= std::max(keep, 1)) {
      if (!entry.best) behind.push_back(entry);
    } else if (entry.whole) {
      ++whole;
    }
  }
  return behind;
}

}  // namespace

CheckpointEntries WorthMoving(const CheckpointEntries& tier, const CheckpointEntries& shared) {
  const auto newest = NewestWhole(shared);
  CheckpointEntries worth;
  bool superseded = false;  // by one that is confirmed or newer on the shared side
  for (const auto& entry : tier) {
    const bool confirmed = IsConfirmed(entry, shared);
    superseded = superseded || confirmed || (newest && entry.step < *newest);
    if (entry.whole && !confirmed && (!superseded || entry.best)) worth.push_back(entry);
  }
  return worth;
}

CheckpointEntries TornToKeep(const CheckpointEntries& tier, const CheckpointEntries& shared) {
  const auto newest = NewestWhole(shared);
  CheckpointEntries kept;
  for (const auto& entry : tier) {
    const bool replaced = IsConfirmed(entry, shared) || (newest && entry.step < *newest);
    if (!entry.whole && !replaced) kept.push_back(entry);
  }
  return kept;
}

CheckpointEntries SuperfluousInTier(const CheckpointEntries& tier, const CheckpointEntries& shared, int keep) {
  const auto newest = NewestWhole(shared);
  auto superfluous = Behind(tier, keep);
  std::erase_if(superfluous, [&](const CheckpointEntry& entry) {
    return !IsConfirmed(entry, shared) && !(newest && entry.step < *newest);
  });
  return superfluous;
}

CheckpointEntries SuperfluousOnShared(const CheckpointEntries& shared, int keep) { return Behind(shared, keep); }

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
      if (outcome.end == MoveEnd::kTorn) round.torn.push_back({entry.step, outcome.reason, {}});
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
