/// A run enters a phase while no manager holds its folder: its state, and the event.
#pragma once

#include <string>

#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// Errors: SystemError.
void EnterPhase(const RunFolder& folder, Phase phase, const std::string& reason);

}  // namespace slipway::launcher
