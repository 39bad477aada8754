#include "launcher/plan/promised_buffer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "core/files.h"
#include "launcher/spec/burst_buffer_spec.h"
#include "staging/generation/discover_tiers.h"
#include "staging/plan/tiers.h"

namespace slipway::launcher {
namespace fs = std::filesystem;
namespace {

constexpr auto kWholeBuffer = std::numeric_limits<std::uint64_t>::max();
constexpr char kBuffer[] = "burst";

bool BeforeTheJob(const LaunchSpec& launch) {
  return launch.engine == EngineChoice::kSlurm && std::getenv("SLURM_JOB_ID") == nullptr;
}

/// Replaces `state` where the directives give more than this node has.
void Promise(const BurstBufferSpec& spec, staging::TierState& state) {
  const auto variable = BufferVariable(BufferOf(spec, {}));
  if (state.usable || state.name != kBuffer || variable.empty()) return;
  state = {};
  state.name = kBuffer;
  state.root = fmt::format("${{{}}}/slipway-<uid>", variable);
  state.available = spec.capacity.value_or(Bytes{kWholeBuffer});
  state.free_inodes = kWholeBuffer;
  state.usable = true;
  state.scope = spec.access == BufferAccess::kStriped ? staging::TierScope::kJob : staging::TierScope::kNode;
  state.origin = "launch.slurm.burst_buffer";
}

}  // namespace

std::optional<fs::path> StagedIn(const std::string& dataset) {
  const char* place = std::getenv("SLIPWAY_STAGED_IN");
  if (place == nullptr) return {};
  auto directory = fs::path(place) / dataset;
  return IsDirectory(directory) ? std::optional(std::move(directory)) : std::nullopt;
}

void PreferStagedIn(staging::DatasetRequest& request, std::vector<staging::TierState>& tiers) {
  const auto buffer = std::find_if(tiers.begin(), tiers.end(), [](const auto& tier) { return tier.name == kBuffer; });
  if (buffer == tiers.end() || !buffer->usable) return;
  const auto staged = StagedIn(request.name);
  if (!staged) return;
  const auto taken = staging::TakenBy(*staged);
  buffer->available.count += std::min(taken.bytes.count, kWholeBuffer - buffer->available.count);
  buffer->free_inodes += std::min(taken.inodes, kWholeBuffer - buffer->free_inodes);
  request.tiers.erase(request.tiers.begin(), std::find(request.tiers.begin(), request.tiers.end(), kBuffer));
}

bool IsPromised(const std::filesystem::path& root) { return root.native().starts_with("${"); }

std::vector<staging::TierState> TiersForRun(const std::vector<std::string>& wanted, const SpecDocument& document) {
  auto states = staging::DiscoverTiers(wanted, SiteTiersOf(document));
  const auto& launch = document.spec.launch;
  if (!BeforeTheJob(launch)) return states;
  for (auto& state : states) Promise(launch.slurm.burst_buffer, state);
  return states;
}

}  // namespace slipway::launcher
