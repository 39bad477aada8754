/// Packs: small steps that share one Slurm job, one after or beside the other. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/units.h"
#include "launcher/workflow/workflow.h"

namespace slipway::launcher {

/// The most steps of a pack: its job holds two files open for each.
inline constexpr std::size_t kMostStepsOfPack = 200;

/// What the job of a pack asks for: one node.
struct PackSize {
  int cpus = 1;
  int gpus = 0;
  Bytes memory;                       ///< 0: the site's default
  std::optional<Seconds> time_limit;  ///< nothing: the site's default

  bool operator==(const PackSize&) const = default;
};

/// As much as lets all steps run at once that do not need each other, as far as a node has it. `took`: by step of the
/// workflow. The time limit holds them all: by what they took before with reserve, else by their own limits; nothing
/// where neither is known.
PackSize SizeOfPack(const Workflow& workflow, const std::vector<StepIndex>& steps,
                    const std::vector<std::optional<Seconds>>& took, const std::optional<NodeSize>& node);

struct PackTrouble {
  StepIndex step = 0;
  std::string why;
};
/// Why the steps of a `pack` cannot share a job, for the first such pack; nothing: all can.
std::optional<PackTrouble> TroubleWithPacks(const Workflow& workflow);

}  // namespace slipway::launcher
