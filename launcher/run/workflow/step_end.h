/// What a step has left behind when its program has ended.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "launcher/run/workflow/result_store.h"
#include "launcher/run/workflow/step_launch.h"
#include "launcher/run/workflow/step_runner.h"

namespace slipway::launcher {

struct StepOutcomePlace {
  StepPlace place;
  std::filesystem::path run_folder;  ///< of an experiment or ensemble
};

/// Why the step has failed: "exit status 3", "output 'train' was not written"; empty when it has not.
std::string WhyFailed(const Step& step, const StepEnd& end, const StepOutcomePlace& place);

/// Its outputs and values. Errors: those of the run folder and its trial book; SystemError.
StepResult ResultOfStep(const Step& step, const StepOutcomePlace& place);

/// StampOfTree of all inputs that are files of the user, by name. Errors: SystemError.
std::map<std::string, std::string> StampsOfInputs(const Step& step);

/// Why the result of a step is not kept whose inputs had these stamps when it began; empty when it is. Errors:
/// SystemError.
std::string WhyOutdated(const Step& step, const std::map<std::string, std::string>& stamps);

}  // namespace slipway::launcher
