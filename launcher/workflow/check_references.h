/// Checks the references of a workflow, and finds which steps need which.
#pragma once

#include <functional>
#include <string>

#include "launcher/spec/source.h"
#include "launcher/workflow/workflow.h"

namespace slipway::launcher {

/// Where a field of a step stands.
using FieldPlaces = std::function<Place(StepIndex step, const std::string& field)>;

/// Reports references that name no step or no result, or whose type does not fit, and names in `after` that are no
/// step. Fills `needs`, from references and from `after`. Cost: linear in the values of all steps.
void LinkSteps(Workflow& workflow, const FieldPlaces& place_of, Report& report);

/// Fills `order` and `dependants`; reports a cycle.
void OrderSteps(Workflow& workflow, const FieldPlaces& place_of, Report& report);

/// An input that is the output of another step becomes a reference to it. Reports outputs of one step that overlap or
/// leave its folder, inputs that two steps write, and inputs that are not there and that no step writes.
/// Cost: looks for each input on the disk.
void LinkFiles(Workflow& workflow, const FieldPlaces& place_of, Report& report);

}  // namespace slipway::launcher
