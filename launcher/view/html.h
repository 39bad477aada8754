/// Text that may hold anything, within HTML.
#pragma once

#include <string>
#include <string_view>

namespace slipway::launcher {

/// As text of an element or value of an attribute. Control characters and broken UTF-8 become U+FFFD.
std::string EscapeHtml(std::string_view text);

/// JSON text, so that no HTML parser finds a tag in it: `<`, `>`, `&`, U+2028 and U+2029 are written as \u escapes.
std::string JsonWithinScript(std::string_view json);

}  // namespace slipway::launcher
