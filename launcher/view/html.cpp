#include "launcher/view/html.h"

#include "core/utf8_character.h"

namespace slipway::launcher {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

std::string_view EscapeOf(char character) {
  switch (character) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    case '\n':
    case '\t': return {};
    default:
      return static_cast<unsigned char>(character) < 0x20 || character == 0x7f ? kReplacement : std::string_view();
  }
}

/// U+2028 or U+2029, which end a line of JavaScript.
bool IsLineSeparator(std::string_view rest) {
  return rest.starts_with("\xe2\x80\xa8") || rest.starts_with("\xe2\x80\xa9");
}

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  while (!text.empty()) {
    const auto length = Utf8CharacterLength(text);
    const auto escape = length == 0 ? kReplacement : EscapeOf(text.front());
    escaped += escape.empty() ? text.substr(0, length) : escape;
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return escaped;
}

std::string JsonWithinScript(std::string_view json) {
  std::string safe;
  safe.reserve(json.size());
  for (std::size_t i = 0; i < json.size(); ++i) {
    switch (json[i]) {
      case '<': safe += "\\u003c"; continue;
      case '>': safe += "\\u003e"; continue;
      case '&': safe += "\\u0026"; continue;
      default: break;
    }
    if (IsLineSeparator(json.substr(i))) {
      safe += json[i + 2] == '\xa8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      safe += json[i];
    }
  }
  return safe;
}

}  // namespace slipway::launcher
