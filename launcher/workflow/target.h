/// The steps that a reference names.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "launcher/workflow/reference.h"
#include "launcher/workflow/workflow.h"

namespace slipway::launcher {

struct Target {
  std::vector<StepIndex> steps;  ///< one, or all of a group
  std::vector<PathPart> path;    ///< into the result of each
  bool many = false;             ///< the group has a foreach, and no element was chosen
};

/// The target of a reference to a step, or why there is none: "there is no step 'x'".
std::variant<Target, std::string> TargetOf(const Workflow& workflow, const Reference& reference);

}  // namespace slipway::launcher
