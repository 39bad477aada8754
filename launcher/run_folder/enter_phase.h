/// Ends a run while no manager holds its folder: writes its state and the event.
#pragma once

#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// Errors: SystemError.
void EndRun(const RunFolder& folder, Phase phase, EndCause ended);

}  // namespace slipway::launcher
