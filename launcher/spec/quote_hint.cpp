#include "launcher/spec/quote_hint.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/shell.h"

namespace slipway::launcher {
namespace {

/// Where the plain text begins that holds a bracket at `at`, inside of other brackets.
std::size_t BeginOfPlain(std::string_view line, std::size_t at) {
  std::size_t begin = line.find_last_of(",[{", at - 1) + 1;  // 0: there is none
  const std::size_t key = line.substr(0, at).rfind(": ");
  if (key != std::string_view::npos) begin = std::max(begin, key + 1);
  return line.find_first_not_of(" \t", begin);
}

/// Where the text begins that YAML has taken for a list or a map, before it gave up at `at`; npos: there is none.
std::size_t BeginOfUnquoted(std::string_view line, std::size_t at) {
  static constexpr std::string_view kClosing = "}]";
  if (at == 0 || at >= line.size()) return std::string_view::npos;
  const bool in_a_word = std::string_view(" \t,:[{}]\"'").find(line[at - 1]) == std::string_view::npos;
  if (in_a_word) return line[at] == '{' || line[at] == '[' ? BeginOfPlain(line, at) : std::string_view::npos;
  const bool goes_on = std::string_view(" \t,:}]").find(line[at]) == std::string_view::npos;
  if (!goes_on || kClosing.find(line[at - 1]) == std::string_view::npos) return std::string_view::npos;
  for (std::size_t i = at, depth = 0; i-- > 0;) {
    if (kClosing.find(line[i]) != std::string_view::npos) ++depth;
    if ((line[i] == '{' || line[i] == '[') && --depth == 0) return i;
  }
  return std::string_view::npos;
}

/// The text from `begin` to the end of the value. Its own brackets are closed.
std::string_view UnquotedFrom(std::string_view line, std::size_t begin, TextIn in) {
  std::size_t end = begin;
  for (std::size_t depth = 0; end < line.size(); ++end) {
    const char c = line[end];
    const bool closes = c == '}' || c == ']';
    if (in == TextIn::kBrackets && depth == 0 && (closes || c == ',')) break;
    if (c == '#' && end > begin && line[end - 1] == ' ') break;
    if (c == '{' || c == '[') ++depth;
    if (closes && depth > 0) --depth;
  }
  const auto value = line.substr(begin, end - begin);
  return value.substr(0, value.find_last_not_of(" \t\r") + 1);
}

/// The parser gave up at `at`.
std::string WhatNeedsQuotes(std::string_view line, std::size_t begin, std::size_t at) {
  if (line[begin] == '{' || line[begin] == '[')
    return fmt::format("text that begins with '{}' needs quotes", line[begin]);
  const auto bracket = line[at - 1] == '$' ? line.substr(at - 1, 2) : line.substr(at, 1);
  return fmt::format("text with '{}' inside of brackets needs quotes", bracket);
}

/// As YAML reads it back: in double quotes a backslash would begin an escape.
std::string InQuotes(std::string_view text) {
  if (text.find_first_of("\"\\") == std::string_view::npos) return fmt::format("\"{}\"", text);
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace

std::string QuoteHint(const SourceText& text, const Place& place, TextIn in) {
  const auto line = text.Line(place.line);
  const auto at = static_cast<std::size_t>(place.column);
  const auto begin = BeginOfUnquoted(line, at);
  if (begin == std::string_view::npos) return {};
  const auto value = UnquotedFrom(line, begin, in);
  const auto quoted = InQuotes(value);
  const auto what = WhatNeedsQuotes(line, begin, at);
  if (!text.is_override) return fmt::format("{}: write {}", what, quoted);
  const auto change = fmt::format("{}{}{}", line.substr(0, begin), quoted, line.substr(begin + value.size()));
  return fmt::format("{}, and quotes for the shell: --set {}", what, QuoteForShell({change}));
}

}  // namespace slipway::launcher
