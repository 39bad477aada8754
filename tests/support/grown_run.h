/// A run folder that grows as its manager and ranks would let it grow.
#pragma once

#include <fstream>
#include <string>

#include "core/files.h"
#include "core/json.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::test {

/// `file`: from the folder of the run; made if needed, with its own folder.
inline void AppendTo(const launcher::RunFolder& run, const std::string& file, const std::string& text) {
  MakeDirectories((run.path() / file).parent_path());
  std::ofstream(run.path() / file, std::ios::app) << text;
}

/// In state.json and in events.jsonl.
inline void EnterPhase(const launcher::RunFolder& run, launcher::Phase phase, int attempt) {
  auto state = run.ReadState();
  state.phase = phase;
  state.attempt = attempt;
  run.WriteState(state);
  run.AppendEvent(launcher::PhaseName(phase), Json{{"attempt", attempt}, {"reason", ""}});
}

}  // namespace slipway::test
