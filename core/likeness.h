/// Error messages without what differs from run to run.
#pragma once

#include <string>
#include <string_view>

namespace slipway {

/// The text with "PATH" in place of each path and "N" in place of each number. So "cannot create '/runs/trials/00017':
/// No space left" becomes the same for every run and trial.
std::string WithoutPathsAndNumbers(std::string_view text);

}  // namespace slipway
