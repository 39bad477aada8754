/// Workflows of tests: from text, or with nothing but edges.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "core/files.h"
#include "launcher/workflow/graph.h"
#include "launcher/workflow/read_workflow.h"
#include "tests/support/temp_directory.h"

namespace slipway::test {

inline launcher::Workflow WorkflowOf(const TempDirectory& folder, const std::string& steps) {
  WriteFile(folder / "flow.yaml", "name: flow\nsteps:\n" + steps);
  return launcher::ReadWorkflow(folder / "flow.yaml");
}

/// Steps s0, s1 and so on with these needs; each runs `word SPEED`.
inline launcher::Workflow GraphOf(const std::vector<std::vector<launcher::StepIndex>>& needs) {
  launcher::Workflow workflow;
  workflow.name = "flow";
  workflow.directory = "/nowhere";
  workflow.needs = needs;
  workflow.dependants = launcher::Inverse(needs);
  workflow.order = launcher::OrderOf(needs).order;
  for (std::size_t i = 0; i < needs.size(); ++i) {
    launcher::Step step;
    step.name = step.group = fmt::format("s{}", i);
    step.work = launcher::CommandStep{{"word", "0"}};
    workflow.by_name[step.name] = i;
    workflow.groups[step.group] = {i};
    workflow.steps.push_back(step);
  }
  return workflow;
}

}  // namespace slipway::test
