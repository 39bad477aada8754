/// `slipway doctor`: checks this machine, and an experiment on it.
#pragma once

#include <string>
#include <vector>

#include "launcher/cli/commands/plan.h"

namespace slipway::launcher {

struct DoctorOptions {
  SpecSelection selection;  ///< without a spec only the machine is checked
  bool try_srun = false;
};

/// Returns 0, or 1 when a check has failed. Errors: Error(kUsage) for overrides without a spec.
int Doctor(const DoctorOptions& options, Session& session);

}  // namespace slipway::launcher
