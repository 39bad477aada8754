/// The runs of a folder that fit the filters of `slipway ls`, in the order that it asks for.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "launcher/cli/commands/ls.h"
#include "launcher/run_folder/run_folder.h"
#include "launcher/run_folder/run_tags.h"

namespace slipway::launcher {

/// What a run is ordered by with `--sort best`.
struct BestOfRun {
  std::string metric;
  double value = 0;
  bool more_is_better = false;
};

/// A run whose state cannot be read has the reason instead.
struct SelectedRun {
  RunFolder folder;
  std::optional<Error> trouble = {};
  std::optional<RunState> state = {};
  RunTags tags = {};
  std::optional<BestOfRun> best = {};  ///< only with `sort` best
};

struct Selection {
  std::vector<SelectedRun> runs;  ///< what is looked for stands last: the newest, the best
  std::size_t fitting = 0;        ///< before the limit
  std::size_t total = 0;          ///< of all runs
  std::string remark;             ///< for a tag that no run has; may be empty
};

/// `now`: in seconds since 1970.
/// Cost: without filters that of the runs shown; else two small files of each run. With `sort` best also the trial book
/// of each ensemble that fits. With states also a request to the batch system for the runs that have not ended.
/// Errors: as Ls.
Selection SelectRuns(const LsOptions& options, const std::filesystem::path& runs_directory, double now);

/// "best": the ensemble's, or of a single run the last value of its metric. Nothing: there is none yet.
std::optional<BestOfRun> BestOf(const RunFolder& folder, const RunState& state, const std::string& metric);

}  // namespace slipway::launcher
