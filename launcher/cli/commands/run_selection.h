/// The runs of a folder that fit the filters of `slipway ls`, in the order that it asks for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/cli/commands/ls.h"
#include "launcher/run/batch/batch_observation.h"
#include "launcher/run_folder/run_tags.h"
#include "launcher/view/best_of_run.h"

namespace slipway::launcher {

struct SelectedRun : RunRow {
  RunTags tags = {};
  std::optional<BestValue> best = {};  ///< only with `sort` best
};

struct Selection {
  std::vector<SelectedRun> runs;     ///< what is looked for stands last: the newest, the best
  std::size_t fitting = 0;           ///< before the limit
  std::size_t total = 0;             ///< of all runs
  std::vector<std::string> remarks;  ///< on a tag that no run has; on runs without the metric that orders them
};

/// `now`: in seconds since 1970.
/// Cost: that of ObserveAllRows, without filters for the runs shown only, else for all; with `sort` best also the trial
/// book of each ensemble that fits.
/// Errors: as Ls.
Selection SelectRuns(const LsOptions& options, const RunsDirectory& directory, double now);

}  // namespace slipway::launcher
