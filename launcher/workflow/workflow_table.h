/// The fields of a workflow file: each stands once, with its member of the structs.
#pragma once

#include <string>
#include <vector>

#include "launcher/spec/fields.h"
#include "launcher/workflow/workflow.h"

namespace slipway::launcher {

class SpecVisitor;
void Visit(SpecVisitor& visit, StepResources& resources);

/// What the reader takes from a step before it knows its kind.
struct StepFields {
  Step step;  ///< without its work
  std::vector<std::string> command;
  std::vector<std::string> data;
  std::vector<std::string> report;
  std::vector<std::string> files;
};

/// The fields at the top of the file. `defaults` and `steps` are read apart.
const FieldNode& WorkflowTree();
/// The fields of a step.
const FieldNode& StepTree();

/// Fills the structs from what ReadFieldsOf made. Members that are missing stay as they are.
void BuildStep(const Json& values, StepFields& step);
void BuildWorkflow(const Json& values, Workflow& workflow);

}  // namespace slipway::launcher
