/// Lines of text, and its case.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace slipway {

/// The first line, without its line break; the whole text when it has one line.
std::string_view FirstLine(std::string_view text);
/// The last line that is not blank, without what ends it; a carriage return ends a line, too. Empty without any.
std::string_view LastLine(std::string_view text);
/// All lines, without their line breaks.
std::vector<std::string> LinesOf(std::string_view text);

/// Letters of ASCII in lower case, whatever the locale is.
std::string LowerCase(std::string_view text);

}  // namespace slipway
