/// "Did you mean": the valid word nearest to a mistyped one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace slipway {

/// The candidate with the smallest edit distance (insert, delete, replace, swap of neighbours; case does not count).
/// Empty when none is near: more than a third of the word's letters differ (two always may).
std::string NearestWord(std::string_view word, std::span<const std::string> candidates);

/// "; did you mean 'lr'?" or, when none is near, "; valid are 'lr', 'momentum'".
std::string SuggestWord(std::string_view word, std::span<const std::string> candidates);

}  // namespace slipway
