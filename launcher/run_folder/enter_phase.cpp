#include "launcher/run_folder/enter_phase.h"

#include <nlohmann/json.hpp>

#include "core/clock.h"

namespace slipway::launcher {

void EndRun(const RunFolder& folder, Phase phase, EndCause ended) {
  auto state = folder.ReadState();
  EndAs(state, phase, std::move(ended));
  state.detail.clear();
  state.ended = FormatUtc(SystemClock().Now());
  folder.WriteState(state);
  folder.AppendEvent(PhaseName(phase), Json{{"reason", state.reason}});
}

}  // namespace slipway::launcher
