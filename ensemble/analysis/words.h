/// Words of the command line for the values of an enum.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace slipway::ensemble {

/// The index of `word` in `words`. `noun`: what the word names, as "method".
/// Errors: Error(kUsage) naming the nearest word.
std::size_t IndexOfWord(std::string_view noun, std::string_view word, const std::vector<std::string>& words);

}  // namespace slipway::ensemble
