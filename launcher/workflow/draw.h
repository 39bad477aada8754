/// Pictures of a workflow: text for a terminal, SVG for a page. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/workflow/workflow.h"

namespace slipway::launcher {

/// How a step is shown.
enum class StepLook { kPlain, kReused, kRuns, kFailed, kBlocked };

struct DrawnStep {
  std::string note;  ///< behind its name: "reused", "it has not run yet"
  StepLook look = StepLook::kPlain;
};

/// For each step the length of the longest way to it.
std::vector<std::size_t> DepthsOf(const Workflow& workflow);

/// One line for each step in the order of the workflow: indented by depth, with kind, needs and note.
std::string DrawText(const Workflow& workflow, const std::vector<DrawnStep>& steps);

/// Layers from top to bottom; lines that would pass behind a box go around it. Cost: linear in steps and in the layers
/// that edges pass.
std::string DrawSvg(const Workflow& workflow, const std::vector<DrawnStep>& steps);

}  // namespace slipway::launcher
