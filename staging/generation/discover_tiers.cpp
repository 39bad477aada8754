#include "staging/generation/discover_tiers.h"

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "core/memory_left.h"
#include "staging/generation/generation.h"
#include "staging/plan/tiers.h"

namespace slipway::staging {
namespace {

const TierDefinition* FindDefinition(const std::vector<TierDefinition>& site, const std::string& name) {
  const auto found = std::find_if(site.begin(), site.end(), [&](const auto& tier) { return tier.name == name; });
  return found == site.end() ? nullptr : &*found;
}

constexpr auto kAll = std::numeric_limits<std::uint64_t>::max();

TierState ReadInPlace() {
  TierState state{kInPlaceTier, {}, Bytes{kAll}, kAll, true, {}, {}};
  state.scope = TierScope::kJob;
  state.origin = "built in";
  return state;
}

void Examine(TierState& state) {
  if (auto reason = WhyNotUsable(state.root)) {
    state.reason = std::move(*reason);
    return;
  }
  const auto available = FreeSpaceIn(NearestExisting(state.root));
  const auto leftovers = LeftoversIn(state.root);  // they go when space lacks
  state.available = Bytes{available.bytes.count + leftovers.bytes.count};
  if (state.counts_as_memory) state.available = std::min(state.available, MemoryLeft());
  if (state.capacity) {
    const auto left = LeftOf(*state.capacity, state.root).count + leftovers.bytes.count;
    state.available = std::min({state.available, Bytes{left}, *state.capacity});
  }
  state.free_inodes = available.inodes + std::min(leftovers.inodes, kAll - available.inodes);
  state.generations = GenerationsIn(state.root);
  state.being_staged = StagingsIn(state.root);
  state.usable = true;
}

TierState Discover(const std::string& name, const TierDefinition* site) {
  if (name == kInPlaceTier) return ReadInPlace();
  auto place = PlaceOf(name, site);
  TierState state;
  state.name = name;
  state.root = std::move(place.root);
  state.reason = std::move(place.missing);
  state.scope = place.scope;
  state.origin = std::move(place.origin);
  if (site != nullptr) {
    state.capacity = site->capacity;
    state.bandwidth = site->bandwidth;
    state.counts_as_memory = site->kind == TierKind::kRam;
  }
  if (!state.reason.empty()) return state;
  try {
    Examine(state);
  } catch (const Error& error) {
    state.reason = error.message();
  }
  return state;
}

}  // namespace

std::vector<TierState> DiscoverTiers(const std::vector<std::string>& wanted, const std::vector<TierDefinition>& site) {
  std::vector<TierState> states;
  states.reserve(wanted.size());
  for (const auto& name : wanted) states.push_back(Discover(name, FindDefinition(site, name)));
  return states;
}

}  // namespace slipway::staging
