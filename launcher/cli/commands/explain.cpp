#include "launcher/cli/commands/explain.h"

#include <nlohmann/json.hpp>

#include "launcher/cli/commands/find_run.h"
#include "launcher/cli/commands/workflow.h"
#include "launcher/cli/explain/explanation.h"
#include "launcher/run/workflow/workflow_folder.h"
#include "launcher/view/run_facts.h"

namespace slipway::launcher {

int Explain(const ExplainOptions& options, Session& session) {
  const auto run = FindRun(session, options.run);
  if (IsWorkflowRun(run)) return ExplainWorkflow(run, session);
  const auto facts = GatherFacts(run);
  const auto explanation = Explain(facts);
  session.output.Print({ToJson(explanation, facts), Describe(explanation, facts), explanation.headline});
  return 0;
}

}  // namespace slipway::launcher
