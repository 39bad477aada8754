/// YAML text as a plain tree in which every value knows its place.
///
/// Stricter than YAML: one document, UTF-8 text, no duplicate keys, no merge keys, no own tags; aliases are copied.
/// Limits against hostile files: 4 MiB, lines of 64 KiB, 64 levels, 20,000 values after the aliases are copied. Lines
/// are limited because the parser's time grows with the square of their length.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/spec/source.h"

namespace slipway::launcher {

struct YamlEntry;

struct YamlNode {
  enum class Kind { kNull, kScalar, kList, kMap };

  Kind kind = Kind::kNull;
  Place place;
  std::string text;     ///< kScalar: the text without quotes
  bool quoted = false;  ///< kScalar: always text, never a number or a truth value
  bool broken = false;  ///< kScalar: a ${NAME} in it was reported as wrong
  std::vector<YamlNode> items;
  std::vector<YamlEntry> entries;

  const YamlEntry* Find(std::string_view key) const;
  YamlEntry* Find(std::string_view key);
};

struct YamlEntry {
  std::string key;
  Place key_place;
  YamlNode value;
};

inline constexpr std::size_t kLargestSpec = std::size_t{4} << 20;

/// The start of a text that is a part of its source: the value of an override.
struct TextStart {
  std::size_t offset = 0;
};

/// Parses the text. Nothing when it is unusable; `report` then has the reason. Duplicate keys are reported and dropped.
/// An empty text gives kNull.
std::optional<YamlNode> ParseYaml(const Sources& sources, int source, Report& report, TextStart start = {});

}  // namespace slipway::launcher
