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
inline void AppendHex(std::string& text, std::uint32_t number) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (int shift = 28; shift >= 0; shift -= 4) text += kDigits[(number >> shift) & 0xf];
}

}  // namespace slipway::staging
