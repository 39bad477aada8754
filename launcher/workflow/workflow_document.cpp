#include "launcher/workflow/workflow_document.h"

#include <nlohmann/json.hpp>

#include "core/documents.h"
#include "core/json_fields.h"
#include "launcher/spec/yaml_tree.h"
#include "launcher/workflow/graph.h"
#include "launcher/workflow/step_spec.h"

namespace slipway::launcher {
namespace {

constexpr const char* kSchema = "slipway.workflow.submitted/1";

/// The members of all kinds of work.
struct StoredWork {
  StepKind kind = StepKind::kCommand;
  std::vector<std::string> words;
  std::string spec;  ///< YAML
  std::filesystem::path directory;
  std::vector<std::string> parameters;
};

template <class Visitor, MaybeConst<StoredWork> Struct>
void Visit(Visitor& visit, Struct& work) {
  visit("kind", work.kind);
  visit("words", work.words);
  visit("spec", work.spec);
  visit("directory", work.directory);
  visit("parameters", work.parameters);
}

/// A step with its work and settings of Slurm in forms that a document can hold.
struct StoredStep {
  Step step;
  StoredWork work;
  std::string slurm;  ///< YAML; empty: none
  std::vector<StepIndex> needs;
};

template <class Visitor, MaybeConst<StoredStep> Struct>
void Visit(Visitor& visit, Struct& stored) {
  auto& step = stored.step;
  visit("name", step.name);
  visit("group", step.group);
  visit("index", step.index);
  visit("description", step.description);
  visit("work", stored.work);
  visit("when", step.when);
  visit("inputs", step.inputs);
  visit("outputs", step.outputs);
  visit("env", step.env);
  visit("files", step.files);
  visit("code", step.code);
  visit("cpus", step.resources.cpus);
  visit("gpus", step.resources.gpus);
  visit("memory", step.resources.memory);
  visit("time_limit", step.time_limit);
  visit("retries", step.retries);
  visit("slurm", stored.slurm);
  visit("jobs", step.jobs, Presence::kOptional);
  visit("parallel", step.parallel, Presence::kOptional);
  visit("pack", step.pack, Presence::kOptional);
  visit("needs", stored.needs);
}

/// With the URL itself: the document is written for its owner only.
struct StoredNotice {
  std::vector<NotifyOn> on;
  std::vector<std::string> command;
  std::string url;
  std::string variable;
  std::string body;
};

template <class Visitor, MaybeConst<StoredNotice> Struct>
void Visit(Visitor& visit, Struct& notice) {
  visit("on", notice.on);
  visit("command", notice.command);
  visit("url", notice.url);
  visit("variable", notice.variable);
  visit("body", notice.body);
}

StoredNotice Stored(const NotifySpec& entry) {
  const auto webhook = entry.webhook.value_or(SecretUrl{});
  return {entry.on, entry.command, webhook.url, webhook.variable, entry.body};
}

NotifySpec NoticeFrom(StoredNotice stored) {
  NotifySpec entry{std::move(stored.on), std::move(stored.command), {}, std::move(stored.body)};
  if (entry.command.empty()) entry.webhook = SecretUrl{std::move(stored.url), std::move(stored.variable)};
  return entry;
}

struct StoredWorkflow {
  std::string name;
  std::filesystem::path file;
  std::filesystem::path directory;
  std::vector<StoredStep> steps;
  std::vector<StepIndex> order;
  std::vector<StoredNotice> notify;
};

template <class Visitor, MaybeConst<StoredWorkflow> Struct>
void Visit(Visitor& visit, Struct& workflow) {
  visit("name", workflow.name);
  visit("file", workflow.file);
  visit("directory", workflow.directory);
  visit("steps", workflow.steps);
  visit("order", workflow.order);
  visit("notify", workflow.notify, Presence::kOptional);
}

StoredWork Stored(const Work& work) {
  StoredWork stored;
  stored.kind = static_cast<StepKind>(work.index());
  if (const auto* command = std::get_if<CommandStep>(&work)) stored.words = command->words;
  if (const auto* data = std::get_if<DataStep>(&work)) stored.words = data->words;
  if (const auto* report = std::get_if<ReportStep>(&work)) stored.words = report->steps;
  if (const auto* experiment = std::get_if<ExperimentStep>(&work)) {
    stored.spec = YamlOf(*experiment->spec);
    stored.directory = experiment->directory;
  }
  if (const auto* ensemble = std::get_if<EnsembleStep>(&work)) {
    stored.spec = YamlOf(*ensemble->spec);
    stored.directory = ensemble->directory;
    stored.parameters = ensemble->parameters;
  }
  return stored;
}

/// The places of its values are not kept.
std::shared_ptr<const YamlNode> TreeIn(const std::string& text, const DocumentName& name) {
  Sources sources;
  Report report(sources);
  auto tree = ParseYaml(sources, sources.Add("", text, {}), report);
  if (!tree || report.HasErrors()) throw Error(name.kind, name.name + " is damaged: it holds no YAML", name.hint);
  return std::make_shared<const YamlNode>(std::move(*tree));
}

Work WorkFrom(StoredWork stored, const DocumentName& name) {
  switch (stored.kind) {
    case StepKind::kCommand: return CommandStep{std::move(stored.words)};
    case StepKind::kData: return DataStep{std::move(stored.words)};
    case StepKind::kReport: return ReportStep{std::move(stored.words)};
    case StepKind::kExperiment: return ExperimentStep{TreeIn(stored.spec, name), stored.directory};
    case StepKind::kEnsemble: break;
  }
  return EnsembleStep{TreeIn(stored.spec, name), stored.directory, std::move(stored.parameters)};
}

/// What follows from the steps and their needs.
void Complete(Workflow& workflow) {
  workflow.dependants = Inverse(workflow.needs);
  for (StepIndex step = 0; step < workflow.steps.size(); ++step) {
    workflow.by_name.emplace(workflow.steps[step].name, step);
    workflow.groups[workflow.steps[step].group].push_back(step);
  }
}

}  // namespace

Json WriteWorkflowDocument(const Workflow& workflow) {
  StoredWorkflow stored{workflow.name, workflow.file, workflow.directory, {}, workflow.order, {}};
  for (const auto& entry : workflow.notify) stored.notify.push_back(Stored(entry));
  for (StepIndex i = 0; i < workflow.steps.size(); ++i) {
    const auto& step = workflow.steps[i];
    stored.steps.push_back({step, Stored(step.work), step.slurm ? YamlOf(*step.slurm) : "", workflow.needs[i]});
  }
  auto document = WriteFields(stored);
  document["schema"] = kSchema;
  return document;
}

Workflow ReadWorkflowDocument(const std::string& text, const std::string& name) {
  const DocumentName document{name, ErrorKind::kEnvironment, "start the workflow again with: slipway submit FILE"};
  auto stored = ReadFields<StoredWorkflow>(ParseDocument(text, kSchema, document), document);
  Workflow workflow;
  workflow.name = std::move(stored.name);
  workflow.file = std::move(stored.file);
  workflow.directory = std::move(stored.directory);
  workflow.order = std::move(stored.order);
  for (auto& entry : stored.notify) workflow.notify.push_back(NoticeFrom(std::move(entry)));
  for (auto& [step, work, slurm, needs] : stored.steps) {
    step.work = WorkFrom(std::move(work), document);
    if (!slurm.empty()) step.slurm = TreeIn(slurm, document);
    workflow.steps.push_back(std::move(step));
    workflow.needs.push_back(std::move(needs));
  }
  Complete(workflow);
  return workflow;
}

}  // namespace slipway::launcher
