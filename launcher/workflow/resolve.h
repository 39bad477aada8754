/// Puts the results of earlier steps where references to them stand.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/json.h"
#include "launcher/workflow/reference.h"
#include "launcher/workflow/workflow.h"

namespace slipway::launcher {

/// Where values come from, for one step.
struct Scope {
  const Workflow& workflow;
  /// The result of a step that is done; see result_type.h.
  std::function<const Json&(StepIndex step)> result_of;
  NamedStrings inputs;   ///< paths of the step's own inputs
  NamedStrings outputs;  ///< and outputs
};

/// The value of a reference: a list for a range and for all steps of a group.
/// Errors: Error(kFailed) naming the reference when the result has no such value, such as a second best trial.
Json ValueOf(const Reference& reference, const Scope& scope);

/// The text with all values in it. Errors: as ValueOf; lists and maps become JSON.
std::string ResolveText(const std::string& text, const Scope& scope);

/// The words of a command; one that is only a reference to a list becomes several words.
std::vector<std::string> ResolveWords(const std::vector<std::string>& words, const Scope& scope);

/// The spec of a step as YAML text, with all values in it. A value that is only a reference keeps the type of what it
/// refers to.
std::string ResolveSpec(const YamlNode& spec, const Scope& scope);

/// The cores and GPUs that a step takes of a machine: as its resources say, else what the spec of an experiment needs.
/// An ensemble takes GPUs for as many trials as run at once: `parallel` or fewer, as the machine has, and one at least.
/// Pure.
StepResources NeedsOf(const Step& step, const NodeSize& node);

/// With how many of the GPUs that it `needs` a step starts while other runs hold the rest: an ensemble with those of
/// one trial, others with all. Pure.
int LeastGpusOf(const Step& step, const StepResources& needs);

/// Whether a step takes GPUs. Then Slipway hands out the GPUs of a machine, and a step without any sees none. Pure.
bool AsksForGpus(const Workflow& workflow);
/// The experiments that see no GPU because other steps ask for some, except those that say so with a 0. Pure.
std::vector<StepIndex> RunsWithoutGpus(const Workflow& workflow);

/// What a step takes on all its nodes together, for accounts of cost.
struct StepSize {
  std::optional<int> nodes = 1;  ///< nothing: its trials are jobs of their own
  int cpus = 1;
  int gpus = 0;
};
/// As NeedsOf, with nodes like this one; a step that is no run takes one node.
StepSize SizeOf(const Step& step, const NodeSize& node);

}  // namespace slipway::launcher
