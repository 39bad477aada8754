/// Parts of error messages for comparing them: the first line, and the text without paths and numbers.
#pragma once

#include <string>
#include <string_view>

namespace slipway {

/// The text with "PATH" in place of each path and "N" in place of each number. So "cannot create '/runs/trials/00017':
/// No space left" becomes the same for every run and trial.
std::string WithoutPathsAndNumbers(std::string_view text);

/// The first line, without its line break; the whole text when it has one line.
std::string_view FirstLine(std::string_view text);

}  // namespace slipway
