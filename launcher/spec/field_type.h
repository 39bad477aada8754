/// The types of values in the spec.
#pragma once

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/words.h"

namespace slipway::launcher {

enum class TypeKind {
  kText,
  kName,     ///< names of runs: letters, digits, '.', '_', '-'
  kInteger,  ///< within [min, max]
  kNumber,   ///< within [min, max], or strictly between when `open`
  kBool,
  kDuration,   ///< more than 0; a number of seconds in JSON
  kBytes,      ///< a number of bytes in JSON
  kPath,       ///< absolute in JSON; may be a pattern where the field says so
  kWord,       ///< one of `words`
  kTier,       ///< burst, burst:NAME, node, ram, none, dir:PATH, a tier of the site or an alias
  kTierPath,   ///< absolute; its ${NAME} stay until the tier is examined
  kSecretUrl,  ///< {"url": ...} or {"env": NAME} in JSON
  kShare,      ///< a percentage: {"fraction": 0.1} in JSON
  kScalar,     ///< anything that is neither a list nor a map
  kFree,       ///< checked elsewhere
  kList,       ///< of `of[0]`
  kMap,        ///< of names to `of[0]`
  kOneOf,      ///< the first of `of` that fits
  kSection     ///< a map of fields
};

enum class SectionPresence {
  kAlways,   ///< if left out, it holds its defaults
  kOptional  ///< if left out, it is null
};

struct KnownWord {
  std::string word;
  std::string meaning = {};  ///< may be empty
};

struct Type {
  TypeKind kind = TypeKind::kText;
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool open = false;
  std::vector<KnownWord> words;
  std::vector<Type> of;
  SectionPresence presence = SectionPresence::kAlways;
};

namespace type {

Type Of(TypeKind kind);
Type Integer(double min, double max = std::numeric_limits<std::int32_t>::max());
/// A seed: any whole number that fits 63 bits.
Type Seed();
Type Number(double min, double max = std::numeric_limits<double>::infinity());
Type AnyNumber();
Type Between(double min, double max);
/// A number above 0.
Type Positive();
Type Words(const std::vector<std::string>& words);
Type KnownWords(std::vector<KnownWord> words);
/// The words of an enum, and `first` before them.
template <HasWords Enum>
Type WordsFor(std::vector<KnownWord> first = {}) {
  for (const auto& [value, word, meaning] : WordsOf(Enum{})) first.push_back({std::string(word), std::string(meaning)});
  return KnownWords(std::move(first));
}
Type ListOf(Type element);
Type MapOf(Type element);
Type OneOf(std::vector<Type> alternatives);
Type Section(SectionPresence presence = SectionPresence::kAlways);

}  // namespace type

/// The words of a type of kWord.
std::vector<std::string> PlainWords(const Type& type);

/// The text after "expected": "a whole number of at least 1", "one of 'auto', 'local'".
std::string Describe(const Type& type);

}  // namespace slipway::launcher
