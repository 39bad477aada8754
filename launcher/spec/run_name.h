#pragma once

#include <string_view>

namespace slipway::launcher {

/// True for what may name an experiment, and so its run folders: at most 64 letters, digits, '.', '_' and '-', a letter
/// or digit first.
bool IsRunName(std::string_view text);

}  // namespace slipway::launcher
