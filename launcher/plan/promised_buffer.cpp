#include "launcher/plan/promised_buffer.h"

#include <fmt/format.h>

#include <cstdlib>
#include <limits>

#include "launcher/spec/burst_buffer_spec.h"
#include "staging/generation/discover_tiers.h"

namespace slipway::launcher {
namespace {

constexpr auto kAll = std::numeric_limits<std::uint64_t>::max();

bool BeforeTheJob(const LaunchSpec& launch) {
  return launch.engine == EngineChoice::kSlurm && std::getenv("SLURM_JOB_ID") == nullptr;
}

/// Replaces `state` where the directives give more than this node has.
void Promise(const BurstBufferSpec& spec, staging::TierState& state) {
  const auto variable = BufferVariable(BufferOf(spec, {}));
  if (state.usable || state.name != "burst" || variable.empty()) return;
  state = {};
  state.name = "burst";
  state.root = fmt::format("${{{}}}/slipway-<uid>", variable);
  state.available = spec.capacity.value_or(Bytes{kAll});
  state.free_inodes = kAll;
  state.usable = true;
  state.scope = spec.access == BufferAccess::kStriped ? staging::TierScope::kJob : staging::TierScope::kNode;
  state.origin = "launch.slurm.burst_buffer";
}

}  // namespace

bool IsPromised(const std::filesystem::path& root) { return root.native().starts_with("${"); }

std::vector<staging::TierState> TiersForRun(const std::vector<std::string>& wanted, const SpecDocument& document) {
  auto states = staging::DiscoverTiers(wanted, SiteTiersOf(document));
  const auto& launch = document.spec.launch;
  if (!BeforeTheJob(launch)) return states;
  for (auto& state : states) Promise(launch.slurm.burst_buffer, state);
  return states;
}

}  // namespace slipway::launcher
