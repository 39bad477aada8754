// Commands that only workflows have.

#include <CLI/CLI.hpp>

#include "launcher/cli/arguments.h"
#include "launcher/cli/describe.h"
#include "launcher/cli/numbers.h"

namespace slipway::launcher {

void DescribeWorkflowCommands(CLI::App& app, Arguments& arguments) {
  auto* workflow = AddCommand(app, "workflow", "Look into the steps of workflows, and remove old results",
                              "  slipway workflow why last train\n  slipway workflow gc --older-than 30d");
  workflow->require_subcommand(1);

  auto* why = AddCommand(*workflow, "why", "Say what has changed since the last result of a step",
                         "  slipway workflow why last train\n  slipway workflow why cosmo search --json | jq .changes");
  why->add_option("run", arguments.workflow_why.run, "Run of the workflow: id, unique prefix, folder, or last")
      ->required();
  why->add_option("step", arguments.workflow_why.step, "Name of the step")->required();
  SetAction(why, arguments, [&](Session& session) { return ShowWhy(arguments.workflow_why, session); });

  auto& options = arguments.workflow_gc;
  auto* gc = AddCommand(*workflow, "gc", "Remove results of steps that nothing uses",
                        "  slipway workflow gc --dry-run\n  slipway workflow gc --older-than 30d\n"
                        "  slipway workflow gc --older-than 90d --ended-runs");
  gc->add_option("--older-than", options.older_than, "Only results unused for this long, e.g. 12h, 30d")
      ->check(kNotEmpty);
  gc->add_flag("--ended-runs", options.ended_runs, "Also results of runs that have ended; resume makes them again");
  gc->add_flag("--dry-run", options.dry_run, "Say what would be removed; remove nothing");
  SetAction(gc, arguments, [&](Session& session) { return WorkflowGc(arguments.workflow_gc, session); });

  auto* step = workflow->add_subcommand("step", "Carry out steps in their Slurm job (started by submit)")->group("");
  step->add_option("run", arguments.workflow_step.run)->required();
  step->add_option("step", arguments.workflow_step.steps)->required();
  step->add_flag("--array-task", arguments.workflow_step.array_task);
  step->add_option("--first-index", arguments.workflow_step.first_index);
  SetAction(step, arguments, [&](Session& session) { return CarryOutStep(arguments.workflow_step, session); });
}

}  // namespace slipway::launcher
