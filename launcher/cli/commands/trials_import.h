/// `slipway trials import`: adds the trials of an Optuna study to an ensemble.
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

/// Adds the finished trials of the study that lie in the ensemble's search space to its trial book. Reports how many
/// were left out, and why. Samplers learn from them; they do not count towards `trials`. JSON:
/// `slipway.trials.import/1`.
/// Errors: kUsage for a spec or run without an ensemble, or a study with other objectives; kBusy while a manager runs;
/// those of the file and the book.
int TrialsImport(const TrialsImportOptions& options, Session& session);

}  // namespace slipway::launcher
