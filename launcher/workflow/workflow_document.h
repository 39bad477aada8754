/// A workflow as a document: what its Slurm jobs carry out, whatever becomes of its files meanwhile.
#pragma once

#include "core/json.h"
#include "launcher/workflow/workflow.h"

namespace slipway::launcher {

/// `slipway.workflow.submitted/1`. What is only shown to people is left out.
Json WriteWorkflowDocument(const Workflow& workflow);

/// The same workflow: its steps have the same keys. `name` says in messages what is read.
/// Errors: Error(kEnvironment) when the document is damaged.
Workflow ReadWorkflowDocument(const std::string& text, const std::string& name);

}  // namespace slipway::launcher
