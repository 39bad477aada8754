/// Chooses the engine for `auto`. A run keeps the engine that it was planned with.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/environment.h"
#include "launcher/spec/spec.h"

namespace slipway::launcher {

/// What the choice depends on.
struct EngineFacts {
  std::string wanted;                               ///< SLIPWAY_ENGINE: what `auto` means here; empty: not set
  std::string allocation;                           ///< the batch job of this process; empty: none
  std::optional<std::filesystem::path> slurm_conf;  ///< see FindSlurmConf
};

/// Cost: a few stat(2).
EngineFacts LookForEngines(const Environment& environment, const std::filesystem::path& root = "/");

struct ChosenEngine {
  EngineChoice engine = EngineChoice::kLocal;  ///< never kAuto
  std::string reason;  ///< "SLURM_JOB_ID: in the allocation of job 12"; empty when it was set explicitly
};

/// `auto` is Slurm inside an allocation, and wherever a slurm.conf is found. It need not answer: a cluster out of order
/// must not turn a login node into a training machine. Pure.
/// Errors: Error(kUsage) for a `wanted` that is neither auto, local nor slurm.
ChosenEngine ChooseEngine(EngineChoice asked, const EngineFacts& facts);

/// Whether a job that is still to be submitted carries out such a run on Slurm. Inside an allocation `run` and `submit`
/// use that, unless trials are jobs of their own. Cost: that of LookForEngines.
bool NeedsJob(const Spec& spec);

}  // namespace slipway::launcher
