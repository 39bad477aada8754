/// How commands are described to the parser; each group has its own file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "launcher/cli/commands/plan.h"

namespace CLI {
class App;
}

namespace slipway::launcher {

struct Arguments;

/// A command of `parent` with its one-line purpose and its examples.
CLI::App* AddCommand(CLI::App& parent, const std::string& name, const std::string& what, const std::string& examples);

/// What the command does, once the whole command line is read; returns the exit status.
void SetAction(CLI::App* command, Arguments& arguments, std::function<int(Session&)> action);

/// Adds the spec and its overrides.
void AddSpecOptions(CLI::App* command, Arguments& arguments);
/// The spec and overrides that were given.
SpecSelection SelectionOf(const Arguments& arguments);
/// The run that a command is about.
void AddRunSelector(CLI::App* command, std::string& run);

/// A trial and its run, as the command line names them.
struct TrialOfRun {
  std::string trial;
  std::string run = "last";
};
/// The number of the trial. When only the run is a number, the two are swapped: `show 7 last`, `show last 7`.
/// Errors: Error(kUsage) when neither is one.
std::int64_t TakeTrial(TrialOfRun& words);

void DescribeInit(CLI::App& app, Arguments& arguments);
void DescribeDiagnosis(CLI::App& app, Arguments& arguments);
void DescribeRecords(CLI::App& app, Arguments& arguments);
void DescribeWorkflowCommands(CLI::App& app, Arguments& arguments);
void DescribeTrialsCommands(CLI::App& app, Arguments& arguments);
void DescribeStageCommands(CLI::App& app, Arguments& arguments);
/// `stage` is the group.
void DescribeStageOut(CLI::App& stage, Arguments& arguments);
void DescribeStageDirectives(CLI::App& stage, Arguments& arguments);
/// `trials` is the group: export and import of trials.
void DescribeTrialsExchange(CLI::App& trials, Arguments& arguments);
/// `trials` is the group: trials that are run by other programs.
void DescribeAskTell(CLI::App& trials, Arguments& arguments);

}  // namespace slipway::launcher
