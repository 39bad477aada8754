#include "ensemble/exchange/optuna_trial.h"

#include <algorithm>
#include <array>

namespace slipway::ensemble {
namespace {

// In the order of the enum.
constexpr std::array<std::string_view, 5> kStateNames = {"RUNNING", "COMPLETE", "PRUNED", "FAIL", "WAITING"};

}  // namespace

std::string_view OptunaStateName(OptunaState state) { return kStateNames[static_cast<std::size_t>(state)]; }

std::optional<OptunaState> ParseOptunaState(std::string_view word) {
  const auto* const found = std::ranges::find(kStateNames, word);
  if (found == kStateNames.end()) return std::nullopt;
  return static_cast<OptunaState>(found - kStateNames.begin());
}

}  // namespace slipway::ensemble
