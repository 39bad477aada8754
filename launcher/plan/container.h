/// The container that the ranks of a run start in: its runtime, its image and its mounts.
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

/// The kind of an image; it decides which runtimes can open it.
enum class ImageKind { kDirectory, kSif, kSquash, kAddress, kName };

/// In the order in which they are preferred. Pure.
std::vector<ContainerRuntime> RuntimesFor(ImageKind kind);

/// The container of the ranks; nothing without `launch.container`. Where a job plans again on its own nodes, no runtime
/// need be installed here.
/// Errors: Error(kEnvironment) when the image does not exist, or no runtime can open it.
std::optional<ContainerPlan> PlanContainer(const SpecDocument& document, bool job_looks_again);

/// The command of a rank: in its container, if it has one.
std::vector<std::string> RankCommand(const Plan& plan, const StagedDirectories& data, const AttemptPlace& place,
                                     const Json& parameters, const TrialTerms& terms);

/// The variables that the runtime reads, and those that MPI needs in a container.
Variables ContainerVariables(const Plan& plan, const Variables& variables);

/// For `slipway plan`.
std::string DescribeContainer(const Plan& plan);

}  // namespace slipway::launcher
