/// `slipway doctor`: whether this machine, and an experiment on it, is in order.
#pragma once

#include <string>
#include <vector>

#include "launcher/cli/commands/plan.h"

namespace slipway::launcher {

struct DoctorOptions {
  SpecSelection selection;  ///< without a spec only the machine is looked at
  bool try_srun = false;
};

/// Returns 0, or 1 when a check has failed. Errors: Error(kUsage) for changes of no experiment.
int Doctor(const DoctorOptions& options, Session& session);

}  // namespace slipway::launcher
