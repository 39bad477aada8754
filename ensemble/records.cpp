#include "ensemble/records.h"

#include <algorithm>
#include <array>

namespace slipway::ensemble {
namespace {

constexpr std::array<std::pair<StopReason, std::string_view>, 4> kStopReasons = {{
    {StopReason::kPruned, "pruned"},
    {StopReason::kPaused, "paused"},
    {StopReason::kTimeLimit, "time_limit"},
    {StopReason::kCancelled, "cancelled"},
}};

}  // namespace

const std::vector<std::string>& TrialStateNames() {
  static const std::vector<std::string> names = {"queued", "claimed", "running", "paused",   "complete",
                                                 "pruned", "failed",  "lost",    "cancelled"};
  return names;
}

std::string_view TrialStateName(TrialState state) { return TrialStateNames()[static_cast<std::size_t>(state)]; }

std::optional<TrialState> ParseTrialState(std::string_view word) {
  const auto& names = TrialStateNames();
  const auto found = std::find(names.begin(), names.end(), word);
  if (found == names.end()) return std::nullopt;
  return static_cast<TrialState>(found - names.begin());
}

bool IsFinal(TrialState state) {
  return state == TrialState::kComplete || state == TrialState::kPruned || state == TrialState::kFailed ||
         state == TrialState::kCancelled;
}

std::string_view StopReasonName(StopReason reason) {
  for (const auto& [known, word] : kStopReasons) {
    if (known == reason) return word;
  }
  return "cancelled";
}

std::optional<StopReason> ParseStopReason(std::string_view word) {
  for (const auto& [reason, known] : kStopReasons) {
    if (known == word) return reason;
  }
  return std::nullopt;
}

std::string_view GoalName(Goal goal) { return goal == Goal::kMaximize ? "maximize" : "minimize"; }

bool IsBetter(double left, double right, Goal goal) { return goal == Goal::kMaximize ? left > right : left < right; }

}  // namespace slipway::ensemble
