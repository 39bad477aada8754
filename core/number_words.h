/// NaN and the infinities as words, for JSON and SQLite, which have no numbers for them: "NaN", "Infinity",
/// "-Infinity".
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "core/json.h"

namespace slipway {

inline constexpr std::array<std::string_view, 3> kNumberWords{"NaN", "Infinity", "-Infinity"};

/// Nothing for a finite number.
std::optional<std::string_view> WordOfNumber(double number);

/// Nothing for any other word.
std::optional<double> NumberOfWord(std::string_view word);

/// The number, or its word.
Json JsonOf(double number);

/// Of a number or one of the words. Nothing for anything else.
std::optional<double> NumberOfJson(const Json& json);

}  // namespace slipway
