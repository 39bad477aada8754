/// Strict reading of JSON objects that people write: every key is known, every value has its type.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/words.h"

namespace slipway::staging {

/// Takes the members of one object; Finish() refuses those that were not asked for.
/// Errors: Error(kUsage) naming the object, the key and what is expected there.
class JsonFields {
 public:
  /// `name` is what messages call the object.
  JsonFields(const Json& object, std::string name);

  bool Has(std::string_view key);
  std::string Text(std::string_view key);
  std::uint64_t Count(std::string_view key);
  double Number(std::string_view key);
  bool Flag(std::string_view key);
  std::vector<std::uint64_t> Counts(std::string_view key);
  std::vector<double> Numbers(std::string_view key);
  /// The value, unconverted. Null when the key is missing.
  const Json* Value(std::string_view key);
  /// The index of the word.
  std::size_t Word(std::string_view key, const std::vector<std::string>& words);
  /// Leaves `value` unchanged when the key is missing.
  template <HasWords Enum>
  void TakeWord(std::string_view key, Enum& value) {
    if (Has(key)) value = AllOf<Enum>()[Word(key, AllWords<Enum>())];
  }

  void Finish() const;

  [[noreturn]] void Refuse(std::string_view key, std::string_view expected) const;

 private:
  template <class Type>
  Type Take(std::string_view key, std::string_view expected, bool (*fits)(const Json&));
  const Json& Required(std::string_view key, std::string_view expected);

  const Json& object_;
  std::string name_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace slipway::staging
