/// Parts of messages: the first line, and what two about the same thing have in common.
#pragma once

#include <string>
#include <string_view>

namespace slipway {

/// The text with "PATH" in place of each path and "N" in place of each number: "cannot create '/runs/trials/00017': No
/// space left" of any run and trial becomes the same.
std::string WithoutPathsAndNumbers(std::string_view text);

/// Without its line break; all of a text that has one line.
std::string_view FirstLine(std::string_view text);

}  // namespace slipway
