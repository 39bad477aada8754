/// What a step has left behind when its program has ended.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "core/clock.h"
#include "launcher/run/workflow/result_store.h"
#include "launcher/run/workflow/step_launch.h"
#include "launcher/run/workflow/step_runner.h"

namespace slipway::launcher {

struct StepOutcomePlace {
  StepPlace place;
  std::filesystem::path run_folder;  ///< of an experiment or ensemble
};

/// The manager of the run has put the job back into the queue: the run goes on in the job's next turn.
bool IsQueued(const std::filesystem::path& run_folder);

/// Whether the process that only waits for a run was killed, and not for its time limit.
bool WaitWasKilled(const StepEnd& end, const PreparedStep& prepared);
/// The end of the run where its wait was killed after the run had succeeded, and before the wait had seen it. Otherwise
/// `end`. Errors: those of the run folder.
StepEnd EndOfItsRun(const StepEnd& end, const PreparedStep& prepared);

/// Why the step has failed: "exit status 3", "output 'train' was not written"; empty when it has not.
std::string WhyFailed(const Step& step, const StepEnd& end, const StepOutcomePlace& place);

/// Makes links in `outputs` relative whose targets are absolute paths in it: the folder is published under another
/// path. Errors: SystemError.
void MakeOwnLinksRelative(const std::filesystem::path& outputs);

/// Its outputs and values. Errors: those of the run folder and its trial book; SystemError.
StepResult ResultOfStep(const Step& step, const StepOutcomePlace& place);

/// An input that is not what it was when the key of its step was made: the result is not kept.
struct ChangedInput {
  std::string name;
  std::string why;
  bool before_start = false;  ///< nothing in it has changed since the step started, by the clock of its file system
};

/// The first one of a step whose files had these `stamps` when its key was made, by path. Only inputs count: a program
/// may be edited once it runs. Errors: SystemError.
std::optional<ChangedInput> FindChangedInput(const Step& step, const std::map<std::string, std::string>& stamps,
                                             WallTime started);

}  // namespace slipway::launcher
