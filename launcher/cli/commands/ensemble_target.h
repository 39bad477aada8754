/// The ensemble of a spec or of an existing run, for commands that use its trial book without running it.
#pragma once

#include <optional>
#include <string>

#include "ensemble/study/options.h"
#include "launcher/cli/commands/session.h"
#include "launcher/plan/plan.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// Errors: kUsage when the plan has no ensemble.
ensemble::EnsembleOptions OptionsOfEnsemble(const Plan& plan);

class EnsembleTarget {
 public:
  /// `name` is the path of a spec, or selects a run.
  /// Errors: kUsage without an ensemble; those of the spec or of the run's plan.
  EnsembleTarget(const std::string& name, Session& session);

  const ensemble::EnsembleOptions& options() const { return options_; }
  /// The run's folder; for a spec a new one is made, in the phase `created`.
  const RunFolder& Folder();

 private:
  const Session& session_;
  std::optional<RunFolder> folder_;
  Plan plan_;
  ensemble::EnsembleOptions options_;
};

}  // namespace slipway::launcher
