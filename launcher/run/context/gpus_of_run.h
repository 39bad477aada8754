/// Which GPUs of this node are measured for a run.
#pragma once

#include <filesystem>

#include "launcher/run/context/gpu_meter.h"

namespace slipway::launcher {

struct Spec;

/// The GPUs that the run was given: its own number of them with `launch.gpus_per_rank`, of an ensemble all that its
/// trials share. Without that field, those that the environment names.
///
/// If nothing names any and the node has exactly one NVIDIA GPU, that one; its energy is left out. `root`: another one
/// for tests.
GpusToMeasure GpusOfRun(const Spec& spec, const std::filesystem::path& root = "/");

}  // namespace slipway::launcher
