/// The checks of `slipway doctor`, in the order in which they are made.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "launcher/cli/doctor/check.h"
#include "launcher/ranks/local/choose_start.h"
#include "launcher/spec/choose_engine.h"
#include "launcher/spec/gpu_exchange.h"
#include "launcher/spec/spec.h"

namespace slipway::launcher {

struct DoctorRequest {
  std::filesystem::path runs_directory;
  bool try_srun = false;  ///< start ranks by srun, too; inside an allocation
  /// Settings of the experiment.
  EngineChoice asked = EngineChoice::kAuto;
  StartChoice start;
  std::optional<Mpi> mpi = {};
  Spec experiment = {};               ///< the default one where none is named
  GpuSurroundings surroundings = {};  ///< of its ranks
};

/// The checks of the machine. The caller adds those of an experiment.
std::vector<Check> MachineChecks(const DoctorRequest& request);

}  // namespace slipway::launcher
