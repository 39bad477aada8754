/// `slipway trials import`: what an Optuna study has found out, for an ensemble of ours.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "launcher/cli/commands/session.h"

namespace slipway::launcher {

struct TrialsImportOptions {
  std::string target;  ///< a spec, which gets a run folder and is not started, or a run
  std::filesystem::path file;
  std::optional<std::string> study;  ///< none: the only one
};

/// Adds the study's trials that are over and lie in the ensemble's space to its trial book; says how many were left out
/// and why. They come on top of `trials`: samplers learn from them. JSON: `slipway.trials.import/1`.
/// Errors: kUsage for a spec or run without an ensemble, a study with other objectives; kBusy while a manager runs;
/// those of the file and the book.
int TrialsImport(const TrialsImportOptions& options, Session& session);

}  // namespace slipway::launcher
