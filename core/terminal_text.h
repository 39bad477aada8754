/// Text from elsewhere, such as a program's output, made harmless for a terminal.
#pragma once

#include <string>
#include <string_view>

namespace slipway {

/// The text without what a terminal would obey: escape sequences go as a whole, so that coloured words stay words,
/// other control characters but tabs and ends of lines one by one. A byte that is no UTF-8 becomes U+FFFD. Of a line
/// that was written over with carriage returns, as a progress bar is, the last state stays.
std::string WithoutControls(std::string_view text);

}  // namespace slipway
