/// Descriptions of the table of fields for editors, readers and shells.
#pragma once

#include <string>
#include <vector>

#include "core/json.h"

namespace slipway::launcher {

struct FieldNode;

/// JSON Schema, draft-07, `additionalProperties: false` throughout.
Json JsonSchema();

/// The schema of the fields of another table.
Json SchemaOfFields(const FieldNode& tree);

/// The reference page, in Markdown: docs/reference/spec.md.
std::string ReferencePage();

/// Dotted paths of all fields with fixed names, for `--set`.
std::vector<std::string> CompletionWords();

}  // namespace slipway::launcher
