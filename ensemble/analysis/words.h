/// Words of the command line that stand for the values of an enum.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace slipway::ensemble {

/// The place of `word` among `words`. `noun` says what it names: "method".
/// Errors: Error(kUsage) naming the nearest of them.
std::size_t IndexOfWord(std::string_view noun, std::string_view word, const std::vector<std::string>& words);

}  // namespace slipway::ensemble
