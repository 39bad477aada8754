/// Reads runs for a comparison.
#pragma once

#include <span>

#include "launcher/ranks/monitor/line_follower.h"
#include "launcher/run_folder/run_folder.h"
#include "launcher/view/compare.h"

namespace slipway::launcher {

/// At most so many values of a run are compared one by one.
inline constexpr std::size_t kMostComparedValues = 1'000'000;

/// The view, the plan and, of a single run, the values of its metrics. What cannot be read is left out, with a warning
/// in the view. `on_read`: as ViewReader; files are read twice. Errors: those of RunFolder::ReadState.
ComparedRun ReadForComparison(const RunFolder& folder, const BytesRead& on_read = {});

/// The check sums of all other runs against those of the first one. `folders` are those of `runs`. Ensembles have none
/// to compare.
void CompareSumsWithFirst(std::span<const RunFolder> folders, std::span<ComparedRun> runs);

}  // namespace slipway::launcher
