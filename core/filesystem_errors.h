/// Errors of std::filesystem as ours.
#pragma once

#include <filesystem>

#include "core/error.h"

namespace slipway {

/// Runs `action`; a filesystem_error that leaves it becomes a SystemError naming the path.
template <class Action>
auto WithSystemErrors(Action&& action) -> decltype(action()) {
  try {
    return action();
  } catch (const std::filesystem::filesystem_error& error) {
    throw SystemError(error.code().value(), "cannot look at '" + error.path1().string() + "'");
  }
}

}  // namespace slipway
