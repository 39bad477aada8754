/// Makes the folder of a new run so that Ctrl-C leaves none behind that no manager knows.
#pragma once

#include <functional>
#include <optional>

#include "core/interrupt.h"
#include "launcher/cli/commands/session.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// Calls `make` while requests to end wait in `held`. If one has come meanwhile, the folder is removed, and the request
/// ends this process. Keep `held` until a manager takes requests. The folder is named as by RunsDirectory::Name.
/// Errors: those of `make`; SystemError.
RunFolder MakeRun(std::optional<HeldInterrupts>& held, const Session& session, const std::function<RunFolder()>& make);

}  // namespace slipway::launcher
