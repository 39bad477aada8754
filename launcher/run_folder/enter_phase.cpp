#include "launcher/run_folder/enter_phase.h"

#include <nlohmann/json.hpp>

#include "core/clock.h"

namespace slipway::launcher {

void EnterPhase(const RunFolder& folder, Phase phase, const std::string& reason) {
  auto state = folder.ReadState();
  state.phase = phase;
  state.reason = reason;
  state.detail.clear();
  state.ended = HasEnded(phase) ? FormatUtc(SystemClock().Now()) : "";
  folder.WriteState(state);
  folder.AppendEvent(PhaseName(phase), Json{{"reason", reason}});
}

}  // namespace slipway::launcher
