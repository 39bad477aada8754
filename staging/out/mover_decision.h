/// What to move out of a tier and what to remove, decided from what lies on both sides. Pure functions.
///
/// Words: the *tier* is where the program writes its checkpoints; the *shared* side is the run folder. A checkpoint is
/// *confirmed* when the shared side holds the same one whole. The promises, whatever fails and whenever it ends:
///   - the shared side, once it has a whole checkpoint, always has one, and its newest never becomes older;
///   - the tier loses none that is neither confirmed nor older than a whole one on the shared side.
#pragma once

#include <cstdint>
#include <vector>

namespace slipway::staging {

struct CheckpointEntry {
  std::uint64_t step = 0;
  std::uint64_t fingerprint = 0;  ///< of its manifest: a step that is written again is another checkpoint
  bool whole = false;             ///< tier: not known to be torn; shared: verified
  bool operator==(const CheckpointEntry&) const = default;
};

/// Newest first.
using CheckpointEntries = std::vector<CheckpointEntry>;

/// Of the tier, those worth moving, newest first: newer than what is confirmed, or written again.
CheckpointEntries WorthMoving(const CheckpointEntries& tier, const CheckpointEntries& shared);

/// Those that the tier need not hold any longer.
CheckpointEntries SuperfluousInTier(const CheckpointEntries& tier, const CheckpointEntries& shared, int keep);

/// Those that are older than the `keep` newest whole ones (at least one).
CheckpointEntries SuperfluousOnShared(const CheckpointEntries& shared, int keep);

}  // namespace slipway::staging
