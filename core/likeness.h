/// What two messages about the same thing have in common.
#pragma once

#include <string>
#include <string_view>

namespace slipway {

/// The text with "PATH" in place of each path and "N" in place of each number: "cannot create '/runs/trials/00017': No
/// space left" of any run and trial becomes the same.
std::string WithoutPathsAndNumbers(std::string_view text);

}  // namespace slipway
