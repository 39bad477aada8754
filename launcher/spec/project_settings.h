/// `./slipway.yaml`: settings that anybody may have put where the user happens to be.
#pragma once

#include <string>
#include <vector>

#include "launcher/spec/load.h"

namespace slipway::launcher {

inline constexpr const char* kProjectSettings = "slipway.yaml";

/// Its text. Errors: Error(kEnvironment) when somebody else than this user and root can have written it, or can put
/// another one in its place; SystemError.
std::string ReadProjectSettings();

/// What it sets of a run that makes something be executed: "slipway.yaml:3 sets launch.env.LD_PRELOAD: /opt/log.so".
std::vector<std::string> CodeFromProjectSettings(const SpecDocument& document);

}  // namespace slipway::launcher
