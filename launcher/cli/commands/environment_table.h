/// The environment variables that users see: who reads or sets each, and its meaning.
#pragma once

#include <string>

namespace slipway::launcher {

/// docs/reference/environment.md. Pure.
std::string EnvironmentPage();

}  // namespace slipway::launcher
