#include "launcher/cli/commands/workflow.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/documents.h"
#include "core/files.h"
#include "core/text.h"
#include "launcher/cli/commands/find_run.h"
#include "launcher/cli/commands/make_run.h"
#include "launcher/cli/commands/workflow_jobs.h"
#include "launcher/ranks/local/node_devices.h"
#include "launcher/run/workflow/local_step_runner.h"
#include "launcher/run/workflow/step_batch.h"
#include "launcher/run/workflow/step_estimate.h"
#include "launcher/run/workflow/step_observation.h"
#include "launcher/run/workflow/step_submission.h"
#include "launcher/run/workflow/workflow_folder.h"
#include "launcher/run/workflow/workflow_run.h"
#include "launcher/run/workflow/workflow_status.h"
#include "launcher/spec/origin.h"
#include "launcher/workflow/draw.h"
#include "launcher/workflow/read_workflow.h"
#include "launcher/workflow/resolve.h"
#include "launcher/workflow/step_board.h"

namespace slipway::launcher {
namespace {

/// `--engine X` says where the steps run.
std::vector<std::string> OverridesOf(const SpecSelection& selection) {
  constexpr std::string_view kEngine = "launch.engine=";
  auto overrides = selection.overrides;
  for (auto& text : overrides) {
    if (text.starts_with(kEngine)) text = "defaults.engine=" + text.substr(kEngine.size());
  }
  return overrides;
}

WorkflowOrder OrderFor(const SpecSelection& selection, const WorkflowOptions& options) {
  return {std::filesystem::absolute(selection.spec).lexically_normal(), OverridesOf(selection), options.forced};
}

void RequireSteps(const Workflow& workflow, const std::vector<std::string>& steps) {
  std::vector<std::string> names;
  for (const auto& [group, members] : workflow.groups) names.push_back(group);
  for (const auto& step : steps) {
    if (!workflow.groups.contains(step) && !workflow.by_name.contains(step)) throw NoSuchStep(step, names);
  }
}

Workflow Load(const SpecSelection& selection, const WorkflowOptions& options, Session& session) {
  auto workflow = ReadWorkflow(selection.spec, OverridesOf(selection));
  for (const auto& warning : workflow.warnings) session.output.Say(RenderDiagnostic(warning, "warning"));
  RequireSteps(workflow, options.forced);
  return workflow;
}

void WarnOfHiddenGpus(const Workflow& workflow, Output& output) {
  const auto runs = RunsWithoutGpus(workflow);
  if (runs.empty() || StepsAreJobs(workflow) || DevicesOfThisNode().count() == 0) return;
  std::vector<std::string> names;
  for (const auto run : runs) names.push_back(fmt::format("'{}'", workflow.steps[run].name));
  const bool is_one = names.size() == 1;
  output.Warn(fmt::format(
      "{} {} no GPU: other steps ask for GPUs, and {} not; set launch.gpus_per_rank there, to 0 if none is needed",
      NamesText(names), is_one ? "sees" : "see", is_one ? "it does" : "they do"));
}

/// Empty where the machine has what the step asks for.
std::string WhyTooLarge(const Step& step, const MachineResources& machine) {
  const NodeSize node{machine.cpus, machine.memory, machine.devices.count()};
  if (const auto why = WhyNeverOn(machine, NeedsOf(step, node)); !why.empty()) return "cannot start here: " + why;
  const auto why = WhyAloneOn(machine, step.resources);
  return why.empty() ? "" : "runs alone: " + why;
}

/// Of the steps of a foreach, the first speaks for all.
void WarnOfLargeSteps(const Workflow& workflow, Output& output) {
  if (StepsAreJobs(workflow)) return;
  const auto machine = ResourcesOfThisMachine();
  for (const auto& [group, steps] : workflow.groups) {
    if (steps.empty()) continue;
    const auto why = WhyTooLarge(workflow.steps[steps.front()], machine);
    if (!why.empty()) output.Warn(fmt::format("step '{}' {}", group, why));
  }
}

/// A valid file is valid on every machine, also on one that cannot run it.
void WarnOfThisMachine(const Workflow& workflow, Output& output) try {
  WarnOfLargeSteps(workflow, output);
} catch (const StepsInTwoPlaces& error) {
  output.Warn(fmt::format("this machine cannot run it: {}; {}", error.message(), error.next_step()));
}

int CarryOut(const RunFolder& folder, FileLock lock, const Workflow& workflow, const WorkflowOrder& order,
             Session& session) {
  return ManageWorkflow(folder, std::move(lock), workflow, order, session.output);
}

/// What a plan says of its steps.
struct PlanFacts {
  const StepReuse& reuse;
  std::vector<StepEstimate> estimates;
  EstimateTotal total;
};

void AddEstimate(const StepEstimate& estimate, Json& row) {
  const auto& cost = estimate.cost;
  row["bytes"] = estimate.bytes;
  row["has_all_inputs"] = estimate.has_all_inputs;
  row["seconds"] = cost ? Json(cost->seconds) : Json();
  row["core_hours"] = cost ? Json(cost->core_hours) : Json();
  row["gpu_hours"] = cost ? Json(cost->gpu_hours) : Json();
  row["node_hours"] = cost && cost->node_hours ? Json(*cost->node_hours) : Json();
  row["from_results"] = cost ? cost->results : 0;
}

Json PlanDocument(const Workflow& workflow, const PlanFacts& facts) {
  const auto& reuse = facts.reuse;
  Json document{{"schema", "slipway.workflow.preview/1"},
                {"name", workflow.name},
                {"bytes", facts.total.bytes},
                {"core_hours", facts.total.core_hours},
                {"gpu_hours", facts.total.gpu_hours},
                {"node_hours", facts.total.node_hours ? Json(*facts.total.node_hours) : Json()},
                {"steps_without_cost", facts.total.steps_without_cost},
                {"steps", Json::array()}};
  for (const auto index : workflow.order) {
    const auto& step = workflow.steps[index];
    const auto& decision = reuse.of(index);
    Json needs = Json::array();
    for (const auto need : workflow.needs[index]) needs.push_back(workflow.steps[need].name);
    document["steps"].push_back({{"name", step.name},
                                 {"kind", WordOf(step.kind())},
                                 {"description", step.description},
                                 {"needs", std::move(needs)},
                                 {"reuse", decision.reuse},
                                 {"why", decision.why},
                                 {"result", decision.id},
                                 {"when", step.when},
                                 {"origins", step.origins}});
    AddEstimate(facts.estimates[index], document["steps"].back());
  }
  return document;
}

std::string EstimateText(const StepEstimate& estimate) {
  std::string text;
  if (estimate.bytes > 0) text += ", reads " + FormatBytes({estimate.bytes});
  if (estimate.cost) text += fmt::format(", about {}", FormatDuration(Seconds(estimate.cost->seconds)));
  return text;
}

std::vector<DrawnStep> Drawn(const Workflow& workflow, const PlanFacts& facts) {
  std::vector<DrawnStep> drawn;
  for (StepIndex step = 0; step < workflow.steps.size(); ++step) {
    const auto& decision = facts.reuse.of(step);
    auto note = decision.reuse ? std::string("reused")
                               : fmt::format("runs: {}{}", decision.why, EstimateText(facts.estimates[step]));
    if (!workflow.steps[step].when.empty()) note += ", when " + workflow.steps[step].when;
    drawn.push_back({std::move(note), decision.reuse ? StepLook::kReused : StepLook::kRuns});
  }
  return drawn;
}

/// "1.2 core-hours", "3.0 s of core time".
std::string HoursText(double hours, std::string_view what) {
  constexpr double kFewestHours = 0.1;
  return hours >= kFewestHours ? fmt::format("{:.3g} {}-hours", hours, what)
                               : fmt::format("{} of {} time", FormatDuration(Seconds(hours * 3600)), what);
}

/// Nothing where nothing is known.
std::string TotalText(const EstimateTotal& total, std::size_t steps) {
  std::string text;
  if (total.bytes > 0) text += fmt::format("\nthe steps that run read {}", FormatBytes({total.bytes}));
  if (total.steps_without_cost == steps) return text;
  std::vector<std::string> hours;
  if (total.node_hours) hours.push_back(HoursText(*total.node_hours, "node"));
  hours.push_back(HoursText(total.core_hours, "core"));
  if (total.gpu_hours > 0) hours.push_back(HoursText(total.gpu_hours, "GPU"));
  text += fmt::format("\nas before, they take {}", fmt::join(hours, ", "));
  if (total.steps_without_cost > 0) text += fmt::format("; {} have not run before", total.steps_without_cost);
  return text;
}

/// A line for each place beside the file that values come from: "base.yaml:1: a.retries, b.retries". Empty without any.
std::string OriginsText(const Workflow& workflow) {
  std::map<std::string, std::set<std::string>> fields_of;
  for (const auto& step : workflow.steps) {
    for (auto entry = step.origins.begin(); entry != step.origins.end(); ++entry) {
      const auto& [field, origin] = *entry;
      const auto next = std::next(entry);
      const bool is_section = next != step.origins.end() && next->first.starts_with(field + ".");
      if (!is_section && ComesFromElsewhere(origin, workflow.file)) fields_of[origin].insert(step.group + "." + field);
    }
  }
  std::string text;
  for (const auto& [origin, fields] : fields_of) {
    text += fmt::format("  {}: {}\n", origin, NamesText({fields.begin(), fields.end()}));
  }
  return text.empty() ? text : "\nvalues from other places:\n" + text;
}

std::string PlanText(const Workflow& workflow, const std::vector<DrawnStep>& drawn, const EstimateTotal& total) {
  std::size_t reused = 0;
  for (const auto& step : drawn) reused += step.look == StepLook::kReused ? 1 : 0;
  const auto running = drawn.size() - reused;
  return fmt::format("workflow {}: {} steps, {} run, {} reused{}\n\n{}{}", workflow.name, drawn.size(), running, reused,
                     TotalText(total, running), DrawText(workflow, drawn), OriginsText(workflow));
}

}  // namespace

void RefuseWorkflowOptions(const WorkflowOptions& options, const SpecSelection& selection) {
  if (options.forced.empty() && options.svg.empty() && options.submit_for == kSubmitFor) return;
  throw Error(
      ErrorKind::kUsage,
      fmt::format("'{}' has no steps: --force, --svg and --submit-for are for workflows", selection.spec.string()),
      "leave the option out, or name a workflow file");
}

int RunWorkflow(const SpecSelection& selection, const WorkflowOptions& options, Session& session) {
  const auto workflow = Load(selection, options, session);
  const auto order = OrderFor(selection, options);
  if (StepsAreJobs(workflow)) return FollowSteps(SubmitNewSteps(workflow, order, {}, session), session);
  WarnOfHiddenGpus(workflow, session.output);
  WarnOfLargeSteps(workflow, session.output);
  std::optional<HeldInterrupts> held;
  const auto folder =
      MakeRun(held, session, [&] { return PrepareWorkflowRun(session.runs_directory, workflow, order); });
  session.output.Say("run " + folder.id());
  return CarryOut(folder, folder.TakeManagerLock(), workflow, order, session);
}

RunFolder PrepareWorkflow(const SpecSelection& selection, const WorkflowOptions& options,
                          std::optional<HeldInterrupts>& held, Session& session) {
  const auto workflow = Load(selection, options, session);
  const auto order = OrderFor(selection, options);
  if (StepsAreJobs(workflow)) return SubmitNewSteps(workflow, order, options.submit_for, session);
  return MakeRun(held, session, [&] { return PrepareWorkflowRun(session.runs_directory, workflow, order); });
}

int PlanWorkflow(const SpecSelection& selection, const WorkflowOptions& options, Session& session) {
  const auto workflow = Load(selection, options, session);
  WarnOfHiddenGpus(workflow, session.output);
  WarnOfLargeSteps(workflow, session.output);
  ResultStore store(session.runs_directory);
  const std::map<std::string, std::string> made;
  StepReuse reuse(workflow, store, options.forced, made);
  for (const auto step : workflow.order) reuse.Decide(step);
  auto estimates = EstimateSteps(workflow, store, reuse);
  const auto total = TotalOf(estimates, reuse);
  const PlanFacts facts{reuse, std::move(estimates), total};
  const auto drawn = Drawn(workflow, facts);
  if (!options.svg.empty()) WriteFile(options.svg, DrawSvg(workflow, drawn));
  auto document = PlanDocument(workflow, facts);
  const auto jobs = StepsAreJobs(workflow) ? PlanJobs(workflow, store, reuse, session) : std::vector<PlannedJob>();
  AddJobs(jobs, document);
  session.output.Print({document, PlanText(workflow, drawn, total) + DescribeJobs(jobs), workflow.name});
  return ExitCodeOf(jobs);
}

int ValidateWorkflow(const SpecSelection& selection, Session& session) {
  const auto workflow = Load(selection, {}, session);
  RequireOneEngine(workflow);
  WarnOfThisMachine(workflow, session.output);
  const auto text = fmt::format("{}: valid; {}", selection.spec.string(), Counted(workflow.steps.size(), "step"));
  session.output.Print(
      {{{"schema", "slipway.workflow.validate/1"}, {"name", workflow.name}, {"count", workflow.steps.size()}},
       text,
       workflow.name});
  return 0;
}

int ShowWorkflow(const RunFolder& folder, Session& session, const std::optional<RunState>& ended) {
  auto look = LookAtWorkflow(folder);
  if (ended) look.state = *ended;
  PrintWorkflow(folder, look, session.output);
  return OutcomeExitCode(look.state.phase);
}

int ExplainWorkflow(const RunFolder& folder, Session& session) {
  const auto look = LookAtWorkflow(folder);
  const auto& state = look.state;
  const auto document = WorkflowDocument(folder, look);
  std::string text = fmt::format("{}  {}", folder.id(), PhaseName(state.phase));
  if (!state.reason.empty()) text += "\n  " + state.reason;
  for (const auto& step : document["steps"]) {
    const bool has_failed = FromWord<StepState>(step["state"].get<std::string>()) == StepState::kFailed;
    if (!has_failed && step["paused"].is_null()) continue;
    const auto name = step["name"].get<std::string>();
    text += fmt::format("\n\n{}: {}", name, step["reason"].get<std::string>());
    const bool has_started = step["attempt"].get<int>() > 0;
    if (has_failed && has_started)
      text += fmt::format("\n  what it printed: slipway logs {}/{}", folder.selector(), name);
  }
  if (state.phase != Phase::kSucceeded && HasEnded(state.phase)) {
    text += fmt::format("\n\nwhen it is corrected: slipway resume {}; steps that are done stay", folder.selector());
  }
  session.output.Print({document, text, PhaseName(state.phase)});
  return 0;
}

int ResumeWorkflow(const RunFolder& folder, const std::vector<std::string>& overrides, Seconds submit_for,
                   Session& session) {
  auto lock = folder.TakeManagerLock(folder.ReadState());
  auto order = ReadStoredWorkflow(folder).order;
  order.overrides.insert(order.overrides.end(), overrides.begin(), overrides.end());
  if (const auto submitted = SubmittedWorkflow(folder)) {
    return ResumeSteps(folder, lock, *submitted, order, overrides, submit_for, session);
  }
  const auto workflow = ReadWorkflowOf(order, folder);
  const bool are_jobs = AreJobsAgain(folder, workflow);
  StoreWorkflow(folder, workflow, order);
  if (are_jobs) return ResumeSteps(folder, lock, workflow, order, {}, submit_for, session);
  return CarryOut(folder, std::move(lock), workflow, order, session);
}

int ShowWhy(const WhyOptions& options, Session& session) {
  const auto folder = FindWorkflow(session, options.run);
  const auto order = ReadStoredWorkflow(folder).order;
  const auto workflow = ReadWorkflowOf(order, folder);
  RequireSteps(workflow, {options.step});
  ResultStore store(session.runs_directory);
  const std::map<std::string, std::string> made;
  StepReuse reuse(workflow, store, order.forced, made);
  for (const auto step : workflow.order) reuse.Decide(step);
  const auto found = workflow.by_name.find(options.step);
  const auto index = found != workflow.by_name.end() ? found->second : workflow.groups.at(options.step).front();
  const auto& decision = reuse.of(index);
  const auto last = store.LastOf(workflow.name, workflow.steps[index].name);
  const auto changes = last ? WhatChanged(store.Read(*last).parts, decision.parts) : std::vector<std::string>();
  const auto why = decision.reuse ? std::string("nothing has changed: its result is reused") : decision.why;
  Json document{{"schema", "slipway.workflow.why/1"},
                {"step", workflow.steps[index].name},
                {"reuse", decision.reuse},
                {"why", why},
                {"changes", changes},
                {"result", decision.id},
                {"last", last ? Json(*last) : Json()},
                {"parts", decision.parts}};
  session.output.Print({document, fmt::format("{}: {}", workflow.steps[index].name, why), why});
  return 0;
}

}  // namespace slipway::launcher
