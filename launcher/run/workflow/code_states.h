/// The state of the git work trees that hold the programs of steps with `code: git`.
#pragma once

#include <map>
#include <vector>

#include "launcher/workflow/step_key.h"
#include "launcher/workflow/workflow.h"

namespace slipway::launcher {

/// Looks at each work tree once until Forget, when the first of its steps is asked for.
class CodeStates {
 public:
  /// `workflow` must outlive it.
  explicit CodeStates(const Workflow& workflow) : workflow_(workflow) {}

  /// The work tree of the step's program, else of the folder where its command starts.
  /// Errors: Error(kUsage) when there is none; kEnvironment when it cannot be read.
  const CodeState& Of(StepIndex step);
  void Forget() { states_.clear(); }

 private:
  std::vector<std::string> ProgramsIn(const std::filesystem::path& root) const;

  const Workflow& workflow_;
  std::map<std::filesystem::path, CodeState> states_;
};

}  // namespace slipway::launcher
