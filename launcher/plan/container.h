/// The container that the ranks of a run start in: which program opens its image, and what of the machine is seen in
/// it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "launcher/plan/training_command.h"
#include "launcher/ranks/local/container_command.h"
#include "launcher/spec/load.h"

namespace slipway::launcher {

struct Plan;

struct ContainerPlan {
  ContainerRuntime runtime = ContainerRuntime::kApptainer;
  std::string image;   ///< absolute where it is a file or a directory
  std::string reason;  ///< why this runtime
};

/// What an image is, and with it who can open it.
enum class ImageKind { kDirectory, kSif, kSquash, kAddress, kName };

/// In the order in which they are preferred. Pure.
std::vector<ContainerRuntime> RuntimesFor(ImageKind kind);

/// Nothing without `launch.container`. Where a job will look again on its own nodes, no runtime need be here.
/// Errors: Error(kEnvironment) when the image is not there, or nothing that can open it.
std::optional<ContainerPlan> PlanContainer(const SpecDocument& document, bool job_looks_again);

/// The command of a rank: in its container, if it has one.
std::vector<std::string> RankCommand(const Plan& plan, const StagedDirectories& data, const AttemptPlace& place,
                                     const Json& parameters, const TrialTerms& terms);

/// What the runtime itself reads, and what MPI must know in a container.
Variables ContainerVariables(const Plan& plan, const Variables& variables);

/// For `slipway plan`.
std::string DescribeContainer(const Plan& plan);

}  // namespace slipway::launcher
