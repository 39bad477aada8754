#include "launcher/run/workflow/workflow_folder.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/documents.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json_fields.h"
#include "launcher/run/workflow/result_lease.h"
#include "launcher/run/workflow/result_store.h"
#include "launcher/run_folder/run_tags.h"
#include "launcher/spec/secrets.h"
#include "launcher/workflow/read_workflow.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSchema = "slipway.workflow.plan/1";

fs::path FileOf(const RunFolder& folder) { return folder.path() / "workflow.json"; }

}  // namespace

template <class Visitor, MaybeConst<WorkflowOrder> Struct>
void Visit(Visitor& visit, Struct& order) {
  visit("file", order.file);
  visit("overrides", order.overrides);
  visit("forced", order.forced);
}

template <class Visitor, MaybeConst<StoredStep> Struct>
void Visit(Visitor& visit, Struct& step) {
  visit("name", step.name);
  visit("kind", step.kind);
  visit("needs", step.needs);
  visit("description", step.description);
  visit("cpus", step.cpus, Presence::kOptional);
  visit("gpus", step.gpus, Presence::kOptional);
}

template <class Visitor, MaybeConst<StoredWorkflow> Struct>
void Visit(Visitor& visit, Struct& workflow) {
  visit("order", workflow.order);
  visit("steps", workflow.steps);
}

bool IsWorkflowRun(const RunFolder& folder) { return Exists(FileOf(folder)); }

RunFolder PrepareWorkflowRun(const fs::path& runs_directory, const Workflow& workflow, const WorkflowOrder& order) {
  RequireWritableResults(ResultStore(runs_directory).folder());
  auto folder = RunFolder::Create(runs_directory, workflow.name, false);
  StoreWorkflow(folder, workflow, order);
  const RunTags tags{workflow.tags, workflow.description};
  if (!tags.tags.empty() || !tags.description.empty()) WriteRunTags(folder, tags);
  return folder;
}

namespace {

/// The file as it was, but for URLs that may hold a secret.
std::string WithoutWebhooks(const Workflow& workflow) {
  Json notify = Json::array();
  for (const auto& entry : workflow.notify) {
    if (entry.webhook && !entry.webhook->url.empty()) notify.push_back({{"webhook", {{"url", entry.webhook->url}}}});
  }
  return WithoutSecretsOf({{kNotify, std::move(notify)}}, workflow.source);
}

}  // namespace

void StoreWorkflow(const RunFolder& folder, const Workflow& workflow, const WorkflowOrder& order) {
  StoredWorkflow stored{order, {}};
  for (StepIndex i = 0; i < workflow.steps.size(); ++i) {
    const auto& step = workflow.steps[i];
    StoredStep row{step.name, std::string(WordOf(step.kind())), {}, step.description};
    row.cpus = step.resources.cpus.value_or(row.cpus);
    row.gpus = step.resources.gpus.value_or(row.gpus);
    for (const auto need : workflow.needs[i]) row.needs.push_back(workflow.steps[need].name);
    stored.steps.push_back(std::move(row));
  }
  auto document = WriteFields(stored);
  document["schema"] = kSchema;
  WriteFileAtomically(folder.path() / "workflow.yaml", WithoutWebhooks(workflow));
  WriteFileDurably(FileOf(folder), document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

StoredWorkflow ReadStoredWorkflow(const RunFolder& folder) {
  const DocumentName name{fmt::format("'{}'", FileOf(folder).string()), ErrorKind::kEnvironment,
                          "start the workflow again with: slipway run FILE; results that are there are reused"};
  return ReadFields<StoredWorkflow>(ParseDocument(ReadDocument(FileOf(folder)), kSchema, name), name);
}

Workflow ReadWorkflowOf(const WorkflowOrder& order, const RunFolder& folder) {
  if (!Exists(order.file)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("the workflow file '{}' of run {} is gone", order.file.string(), folder.id()),
                fmt::format("copy it back from '{}'", (folder.path() / "workflow.yaml").string()));
  }
  return ReadWorkflow(order.file, order.overrides);
}

fs::path StepFolder(const RunFolder& folder, const std::string& step) { return folder.path() / "steps" / step; }

void LinkResult(const RunFolder& folder, const std::string& step, const std::string& id) {
  const auto link = StepFolder(folder, step) / "result";
  const auto target = fs::path("../../../.results") / id;
  std::error_code error;
  if (fs::read_symlink(link, error) == target) return;
  fs::create_directories(link.parent_path(), error);
  fs::remove(link, error);
  fs::create_symlink(target, link, error);
}

}  // namespace slipway::launcher
