/// The values that references read from a step that has ended: see launcher/workflow/result_type.h.
#pragma once

#include <filesystem>

#include "core/json.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// {"metrics": {...}}: the last value of each name in a file of metric lines, without those that are NaN or infinite at
/// last; empty without a file.
Json ValuesOfMetrics(const std::filesystem::path& file);

/// {"run", "metrics", "checkpoint"} of a single run that has succeeded.
Json ValuesOfRun(const RunFolder& folder);

/// {"run", "best", "top": [{"trial", "value", "params", "checkpoint"}, ...]}: complete trials, the best first.
/// Errors: those of the trial book.
Json ValuesOfEnsemble(const RunFolder& folder);

}  // namespace slipway::launcher
