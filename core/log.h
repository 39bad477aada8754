/// Diagnostic log for developers and bug reports, switched on by SLIPWAY_LOG=debug|info|warn (default: off).
/// What a user must read goes through the Output port instead.
#pragma once

#include <string_view>

namespace slipway::log {

void Debug(std::string_view line);
void Info(std::string_view line);
void Warn(std::string_view line);

}  // namespace slipway::log
