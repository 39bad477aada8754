#include "ensemble/analysis/words.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/nearest_word.h"

namespace slipway::ensemble {

std::size_t IndexOfWord(std::string_view noun, std::string_view word, const std::vector<std::string>& words) {
  const auto found = std::ranges::find(words, word);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  throw Error(ErrorKind::kUsage, fmt::format("unknown {} '{}'{}", noun, word, SuggestWord(word, words)));
}

}  // namespace slipway::ensemble
