/// The checks of `slipway doctor`, in the order in which they are made.
#pragma once

#include <filesystem>
#include <vector>

#include "launcher/doctor/check.h"
#include "launcher/spec/choose_engine.h"

namespace slipway::launcher {

struct DoctorRequest {
  std::filesystem::path runs_directory;
  EngineChoice asked = EngineChoice::kAuto;  ///< what the settings or the experiment say
  bool try_srun = false;                     ///< start ranks by srun, too; inside an allocation
};

/// Of the machine; those of an experiment come from who knows it.
std::vector<Check> MachineChecks(const DoctorRequest& request);

}  // namespace slipway::launcher
