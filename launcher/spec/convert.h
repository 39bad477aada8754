/// One value of the tree as a value of its type.
#pragma once

#include <string>
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

/// Stores the JSON form of `node` in `value` and returns nothing, or returns all that is wrong with it; of a map the
/// members without a fault are stored all the same.
/// Relative paths start at the directory of the source that they stand in.
std::vector<Problem> Convert(const Type& type, const YamlNode& node, const Sources& sources, Json& value);

/// The scalar that plain YAML text means (core schema: true, 12, 0x1f, 1e-3); any other text is itself.
/// Null for infinite numbers and NaN, which JSON does not know, and for whole numbers beyond 64 bits.
Json PlainScalar(const YamlNode& node);

}  // namespace slipway::launcher
