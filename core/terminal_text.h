/// Text from elsewhere, such as a program's output, made harmless for a terminal.
#pragma once

#include <string>
#include <string_view>

namespace slipway {

/// The text without control sequences. Escape sequences are removed whole, so coloured words stay words. Other control
/// characters are removed one by one, except tabs and ends of lines. A byte that is not UTF-8 becomes U+FFFD. A line
/// rewritten with carriage returns, like a progress bar, keeps its last state.
std::string WithoutControls(std::string_view text);

}  // namespace slipway
