/// What starting a step means: its program, its environment, its folders.
#pragma once

#include <filesystem>
#include <functional>

#include "core/environment.h"
#include "launcher/cluster/job_identity.h"
#include "launcher/run/workflow/step_runner.h"
#include "launcher/run_folder/run_folder.h"
#include "launcher/workflow/resolve.h"

namespace slipway::launcher {

/// Where a step works.
struct StepPlace {
  std::filesystem::path folder;    ///< RUN/steps/NAME
  std::filesystem::path prepared;  ///< in it: becomes the published result

  std::filesystem::path log() const { return folder / "log"; }
  std::filesystem::path outputs() const { return prepared / "outputs"; }
  std::filesystem::path metrics() const { return prepared / "metrics.jsonl"; }
};
StepPlace PlaceOfStep(const RunFolder& run, const Step& step);

/// The paths of a step's outputs below `folder`.
NamedStrings OutputPaths(const Step& step, const std::filesystem::path& folder);

struct LaunchOrder {
  const Workflow& workflow;
  StepIndex step;
  const RunFolder& run;
  std::string key;
  int attempt;
  std::function<const Json&(StepIndex step)> result_of;
  StepResources needs;
  JobIdentity job = {};     ///< the Slurm job that carries out this step only; no job: there is none
  bool only_waits = false;  ///< for a run that goes on; where it does not, nothing is made
};

struct PreparedStep {
  StepLaunch launch;
  std::filesystem::path run_folder = {};  ///< of an experiment or ensemble
  bool adopted = false;                   ///< its run still goes on under the manager that began it
};

/// The run that an experiment has begun with this key; nothing when there is none.
std::optional<std::filesystem::path> BegunRun(const StepPlace& place, const std::string& key);

/// Makes the step's folders and decides what to start. A run that was begun with the same key goes on, and keeps what
/// it has written. Every other step begins with empty folders.
/// Errors: Error(kFailed) for a reference without a value; those of LoadWrittenSpec and MakePlan; SystemError.
PreparedStep PrepareStep(const LaunchOrder& order);

}  // namespace slipway::launcher
