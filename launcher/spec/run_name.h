#pragma once

#include <string_view>

namespace slipway::launcher {

/// True for a valid name of an experiment, and so of its run folders. It has at most 64 letters, digits, '.', '_' and
/// '-', with a letter or digit first.
bool IsRunName(std::string_view text);

}  // namespace slipway::launcher
