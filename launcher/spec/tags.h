/// What tags and descriptions of runs may be.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace slipway::launcher {

inline constexpr std::size_t kMostTags = 32;
inline constexpr std::size_t kLongestTag = 64;            ///< characters
inline constexpr std::size_t kLongestDescription = 2000;  ///< bytes

/// Letters, digits and '._-:/=', with a letter or digit first.
bool IsTag(std::string_view text);
/// "a tag has at most 64 letters, ...": after the tag, in quotes.
std::string DescribeTag();

/// Why a description cannot be kept; empty: it can.
std::string WhyNoDescription(std::string_view text);

}  // namespace slipway::launcher
