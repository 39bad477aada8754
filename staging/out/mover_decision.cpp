#include "staging/out/mover_decision.h"

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

/// Those behind the `keep` newest whole ones.
CheckpointEntries Behind(const CheckpointEntries& entries, int keep) {
  CheckpointEntries behind;
  int whole = 0;
  for (const auto& entry : entries) {
    if (whole >= std::max(keep, 1)) {
      behind.push_back(entry);
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
  for (const auto& entry : tier) {
    if (IsConfirmed(entry, shared) || (newest && entry.step < *newest)) break;
    if (entry.whole) worth.push_back(entry);
  }
  return worth;
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

}  // namespace slipway::staging
