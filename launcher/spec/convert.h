/// Converts a value of the YAML tree to its type.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "launcher/spec/field_type.h"
#include "launcher/spec/yaml_tree.h"

namespace slipway::launcher {

struct Problem {
  Place place;
  std::string message;
  std::string suggestion;
};

/// Stores the JSON form of `node` in `value` and returns nothing, or returns everything wrong with it. Correct members
/// of a map are stored even then.
/// Relative paths start at the directory of their source.
std::vector<Problem> Convert(const Type& type, const YamlNode& node, const Sources& sources, Json& value);

/// `path` with the home directory for a leading `~/`, as in a shell. Other paths stay.
std::filesystem::path WithHome(std::string_view path);

/// The scalar that plain YAML text means (core schema: true, 12, 0x1f, 1e-3); other text stays text. Null for infinite
/// numbers and NaN, which JSON does not know, and for integers beyond 64 bits.
Json PlainScalar(const YamlNode& node);

}  // namespace slipway::launcher
