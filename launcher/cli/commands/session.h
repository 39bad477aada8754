/// What every command gets: where to print, and where the runs are.
#pragma once

#include <filesystem>

#include "core/output.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

struct Session {
  Output& output;
  std::filesystem::path runs_directory;
  /// As `--runs-dir` gives it; empty without the option.
  std::filesystem::path named_runs_directory = {};

  RunsDirectory runs() const { return {runs_directory, named_runs_directory}; }
};

}  // namespace slipway::launcher
