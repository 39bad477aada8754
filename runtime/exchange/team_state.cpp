/// What of a team belongs into a checkpoint: how far it is, and the gradients that are on their way.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/exchange/team.h"
#include "runtime/status.h"

namespace slipway::runtime {
namespace {

constexpr std::int64_t kMostSteps = std::int64_t{1} << 60;
/// "wstate1": of versions in which the optimizer of PyTorch had its tensors in the reverse order.
/// "wstate2": of versions in which large tensors of a GPU had their parts in the reverse order.
constexpr std::array<std::uint64_t, 2> kReversedMagics = {0x31657461747377u, 0x32657461747377u};

struct StateHeader {
  std::uint64_t magic = 0x33657461747377u;  // "wstate3"
  std::int64_t step = 0;
  std::int64_t pending = 0;
  std::int64_t bytes = 0;  ///< of one step's gradients as they travel
};

/// Of a state that is too short: one that fits no team.
StateHeader HeaderOf(std::span<const char> state) {
  StateHeader header;
  if (state.size() < sizeof header) return {.magic = 0};
  std::memcpy(&header, state.data(), sizeof header);
  return header;
}

/// `slot_bytes`: of one step's gradients in the team that reads it.
bool Fits(const StateHeader& header, std::size_t size, int lag, std::int64_t slot_bytes) {
  return header.magic == StateHeader{}.magic && header.step >= 0 && header.step <= kMostSteps && header.pending >= 0 &&
         header.pending <= std::min<std::int64_t>(header.step, lag) &&
         (header.pending == 0 || header.bytes == slot_bytes) &&
         size == sizeof header + static_cast<std::size_t>(header.pending * slot_bytes);
}

/// Delayed gradients of an earlier version would come to other elements. A step count alone is the same.
void RefuseReversed(StateHeader& header, const std::string& team) {
  if (std::ranges::find(kReversedMagics, header.magic) == kReversedMagics.end()) return;
  if (header.pending != 0) {
    throw RuntimeError(
        SLIPWAY_ERROR_ARGUMENT,
        fmt::format("the state of team '{}' holds delayed gradients of an earlier version of Slipway, in "
                    "another order: continue without it, or with that version",
                    team));
  }
  header.magic = StateHeader{}.magic;
}

}  // namespace

std::vector<char> Team::SaveState() {
  Drain();
  if (failure_) std::rethrow_exception(failure_);
  StateHeader header{.step = step_, .pending = static_cast<std::int64_t>(pending_.size())};
  std::vector<char> state(sizeof header);
  for (const auto& step : pending_) {
    for (auto& bucket : buckets_) {
      const auto bytes = bucket.SlotBytes(*step.slot);
      if (step.refused) std::fill(bytes.begin(), bytes.end(), '\0');  // adds nothing
      state.insert(state.end(), bytes.begin(), bytes.end());
    }
  }
  if (header.pending > 0) header.bytes = static_cast<std::int64_t>(state.size() - sizeof header) / header.pending;
  std::memcpy(state.data(), &header, sizeof header);
  return state;
}

void Team::LoadState(std::span<const char> state) {
  auto header = HeaderOf(state);
  RefuseReversed(header, parts_.name);
  if (!Fits(header, state.size(), parts_.settings.lag, SlotBytes())) {
    throw RuntimeError(SLIPWAY_ERROR_ARGUMENT,
                       fmt::format("this is no state of team '{}' with these tensors and settings", parts_.name));
  }
  RequireUnused();
  step_ = header.step;
  const char* from = state.data() + sizeof header;
  for (auto number = step_ - header.pending; number < step_; ++number) {
    const auto slot = static_cast<int>(number % slots_);
    for (auto& bucket : buckets_) {
      const auto room = bucket.SlotBytes(slot);
      std::memcpy(room.data(), from, room.size());
      from += room.size();
    }
    pending_.push_back({.number = number, .slot = slot, .done = buckets_.size()});
  }
}

std::int64_t Team::SlotBytes() {
  std::int64_t bytes = 0;
  if (slots_ > 0) {
    for (auto& bucket : buckets_) bytes += static_cast<std::int64_t>(bucket.SlotBytes(0).size());
  }
  return bytes;
}

}  // namespace slipway::runtime
