/// `./slipway.yaml`: settings in the working directory, which another user may have written.
#pragma once

#include <string>
#include <vector>

#include "launcher/spec/load.h"

namespace slipway::launcher {

inline constexpr const char* kProjectSettings = "slipway.yaml";

/// Its text. Errors: SystemError; Error(kEnvironment) when a user other than this one and root could have written or
/// replaced it.
std::string ReadProjectSettings();

/// Its settings that make a run execute something: "slipway.yaml:3 sets launch.env.LD_PRELOAD: /opt/log.so".
std::vector<std::string> CodeFromProjectSettings(const SpecDocument& document);

}  // namespace slipway::launcher
