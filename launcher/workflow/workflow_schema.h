/// Describes workflow files for editors.
#pragma once

#include "core/json.h"

namespace slipway::launcher {

/// JSON Schema, draft-07, from the table of fields (workflow_table.h) and the schema of the spec. No field is required:
/// an included file may have it. Any value of an experiment may be a reference.
Json WorkflowSchema();

}  // namespace slipway::launcher
