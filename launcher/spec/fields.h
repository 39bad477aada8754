/// The fields of the spec (spec_table.cpp) as a list and a tree, for reading, checks, the JSON Schema, the reference
/// page and completion.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "launcher/spec/field_type.h"

namespace slipway::launcher {

/// Which engines use a field. A field that is set, but not used by the run's engine, causes a warning.
enum class UsedBy { kAllEngines, kSlurm };

enum class Need { kOptional, kRequired };

struct Field {
  std::string path;  ///< dotted; `*` stands for any name, `[]` for the elements of a list
  Type type;
  std::string default_yaml;  ///< empty: none, the value is null when it is left out
  std::string description;   ///< one line
  std::string example_yaml;
  UsedBy used_by = UsedBy::kAllEngines;
  Need need = Need::kOptional;
};

/// In the order in which they are documented; a section stands before its fields.
const std::vector<Field>& Fields();

/// The same as a tree.
struct FieldNode {
  const Field* field = nullptr;  ///< null only for the root
  std::vector<std::pair<std::string, FieldNode>> children;

  /// The field for `key`: itself, or the `*` of this section; null when there is none.
  const FieldNode* Child(std::string_view key) const;
  /// True when the keys are the user's: the only child is `*`.
  bool TakesAnyName() const;
};
const FieldNode& FieldTree();
/// The tree of another table. It refers to the fields, which must outlive it.
FieldNode TreeOf(const std::vector<Field>& fields);

/// What the user probably meant by `key` in the section `path` ("" = top level). It is the full path of a field of that
/// name, a similar field of the section, or a field that other tools call so. Empty when nothing is near.
std::string SuggestField(const FieldNode& section, std::string_view key);

/// True when a settings file may hold the top-level field `key`.
bool MayStandInSettings(std::string_view key);

}  // namespace slipway::launcher
