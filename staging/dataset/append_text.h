/// Appends to a text what lists of files are made of. Datasets have 100,000 files and more, and their lists are written
/// while no file is copied.
#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace slipway::staging {

template <std::integral Number>
void AppendNumber(std::string& text, Number number) {
  std::array<char, 24> digits;
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  text.append(digits.data(), end);
}

/// "null" for nothing, as JSON has it.
inline void AppendNumberOrNull(std::string& text, const std::optional<std::uint64_t>& number) {
  number ? AppendNumber(text, *number) : static_cast<void>(text.append("null"));
}

/// 8 digits.
void AppendHex(std::string& text, std::uint32_t number);

/// As a string of JSON. `value` is UTF-8.
void AppendQuoted(std::string& text, std::string_view value);

}  // namespace slipway::staging
