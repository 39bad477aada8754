/// From resolved values of a spec to typed ones. For sources that read JSON anyway: it includes the library.
#pragma once

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/units.h"

namespace slipway::launcher {

template <class Enum>
struct Word {
  std::string_view word;
  Enum value;
};

template <class Enum, std::size_t size>
Enum FromWord(const std::array<Word<Enum>, size>& words, const Json& json) {
  const auto text = json.get<std::string>();
  const auto found = std::find_if(words.begin(), words.end(), [&](const auto& word) { return word.word == text; });
  if (found == words.end())
    throw Error(ErrorKind::kInternal, "the resolved spec holds the unknown word '" + text + "'");
  return found->value;
}

inline std::string TextOrEmpty(const Json& json) { return json.is_null() ? "" : json.get<std::string>(); }

inline std::optional<Bytes> MaybeBytes(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional(Bytes{json.get<std::uint64_t>()});
}

}  // namespace slipway::launcher
