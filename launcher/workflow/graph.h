/// The order of steps that depend on each other.
#pragma once

#include <vector>

#include "launcher/workflow/workflow.h"

namespace slipway::launcher {

struct GraphOrder {
  std::vector<StepIndex> order;  ///< each after those that it needs, else as in the file; without those of a cycle
  std::vector<StepIndex> cycle;  ///< one cycle: each needs the next, the last the first; empty: there is none
};

/// `needs` has for each step those that must be done before. Cost: linear in steps and edges, times a logarithm.
GraphOrder OrderOf(const std::vector<std::vector<StepIndex>>& needs);

/// For each step those that need it.
std::vector<std::vector<StepIndex>> Inverse(const std::vector<std::vector<StepIndex>>& needs);

}  // namespace slipway::launcher
