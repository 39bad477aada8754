/// All metrics of a run in one file: comma-separated values, or JSON lines.
#pragma once

#include <filesystem>

#include "launcher/exports/output_folder.h"
#include "launcher/exports/run_metrics.h"

namespace slipway::launcher {

/// Columns: run, trial, attempt, metric, step, epoch, value, time. Empty: unknown. Values that are not finite are nan,
/// inf and -inf. The file appears when it is complete. Returns the number of values.
/// Errors: those of RequireOwnFile; SystemError.
std::uint64_t WriteCsv(const RunFolder& folder, const ExportedRun& run, const std::filesystem::path& file,
                       Foreign foreign);

/// The same as objects with these members, null for what is unknown; not finite: "NaN", "Infinity", "-Infinity".
std::uint64_t WriteJsonLines(const RunFolder& folder, const ExportedRun& run, const std::filesystem::path& file,
                             Foreign foreign);

}  // namespace slipway::launcher
