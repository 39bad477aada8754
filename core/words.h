/// The words of an enum, in one table beside it. Specs, their schema and pages, command lines, JSON and messages use
/// it.
///
///   enum class Remainder { kDrop, kRepeat, kPad };
///   WordTable<Remainder> WordsOf(Remainder);  // beside the enum; found by the type of its argument, which is not read
///
///   WordOf(Remainder::kPad)         "pad"
///   FromWord<Remainder>("pad")      Remainder::kPad; nothing for what is no word of the table
///   AllWords<Remainder>()           in the order of the table; AllOf<Remainder>() are their values
#pragma once

#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace slipway {

template <class Enum>
struct Word {
  Enum value;
  std::string_view word;
  std::string_view meaning = {};  ///< one line for people: "stage a copy for each node"
};

/// One row for each value of the enum. Of two words for one value the first is written, both are read.
template <class Enum>
using WordTable = std::span<const Word<Enum>>;

template <class Enum>
concept HasWords = std::is_enum_v<Enum> && requires(Enum value) {
  { WordsOf(value) } -> std::same_as<WordTable<Enum>>;
};

template <HasWords Enum>
std::string_view WordOf(Enum value) {
  for (const auto& row : WordsOf(value)) {
    if (row.value == value) return row.word;
  }
  return "unknown";  // a value that was cast from a number
}

template <HasWords Enum>
std::string_view MeaningOf(Enum value) {
  for (const auto& row : WordsOf(value)) {
    if (row.value == value) return row.meaning;
  }
  return "";
}

template <HasWords Enum>
std::optional<Enum> FromWord(std::string_view word) {
  for (const auto& row : WordsOf(Enum{})) {
    if (row.word == word) return row.value;
  }
  return {};
}

template <HasWords Enum>
std::vector<Enum> AllOf() {
  std::vector<Enum> values;
  for (const auto& row : WordsOf(Enum{})) values.push_back(row.value);
  return values;
}

template <HasWords Enum>
std::vector<std::string> AllWords() {
  std::vector<std::string> words;
  for (const auto& row : WordsOf(Enum{})) words.emplace_back(row.word);
  return words;
}

}  // namespace slipway
