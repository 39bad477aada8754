#include "launcher/run/workflow/result_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/documents.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json_fields.h"
#include "core/lines.h"
#include "core/log.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSchema = "slipway.workflow.result/1";

std::string IdOf(const std::string& key, int number) { return fmt::format("{}.{}", key, number); }

/// "KEY.3"; nothing for other names.
std::optional<std::pair<std::string, int>> TakeApart(const std::string& id) {
  const auto dot = id.rfind('.');
  int number = 0;
  if (dot == std::string::npos || dot == 0 || !ParseNumber(std::string_view(id).substr(dot + 1), number)) return {};
  return std::pair(id.substr(0, dot), number);
}

}  // namespace

template <class Visitor, MaybeConst<PublishedOutput> Struct>
void Visit(Visitor& visit, Struct& output) {
  visit("path", output.path);
  visit("stamp", output.stamp);
}

template <class Visitor, MaybeConst<StepResult> Struct>
void Visit(Visitor& visit, Struct& result) {
  visit("key", result.key);
  visit("workflow", result.workflow);
  visit("step", result.step);
  visit("run", result.run);
  visit("started", result.started);
  visit("seconds", result.cost.seconds);
  visit("cpus", result.cost.cpus, Presence::kOptional);
  visit("gpus", result.cost.gpus, Presence::kOptional);
  visit("nodes", result.cost.nodes, Presence::kOptional);
  visit("parts", result.parts);
  visit("outputs", result.outputs);
  visit("values", result.values);
  visit("run_folder", result.run_folder);
}

namespace {

/// Files first, then the names of each folder.
void SyncTree(const fs::path& folder) {
  for (const auto& entry : EntriesBelow(folder)) {
    if (entry.is_symlink()) continue;
    if (entry.is_regular_file()) SyncFile(entry.path());
    if (entry.is_directory()) SyncDirectory(entry.path());
  }
  SyncDirectory(folder);
}

/// "12.5 4 0 2": seconds, cores, GPUs; then nodes, which early versions did not write.
std::string LineOf(const StepCost& cost) {
  const auto nodes = cost.nodes ? fmt::format(" {}", *cost.nodes) : std::string();
  return fmt::format("{:.3f} {} {}{}\n", cost.seconds, cost.cpus, cost.gpus, nodes);
}

std::optional<StepCost> CostOn(std::string_view line) {
  LineWords words(line);
  StepCost cost;
  words.Read(cost.seconds);
  words.Read(cost.cpus);
  words.Read(cost.gpus);
  if (!words.good()) return {};
  if (int nodes = 0; ParseNumber(words.rest(), nodes)) cost.nodes = nodes;
  return cost;
}

Json Document(const StepResult& result) {
  auto document = WriteFields(result);
  document["schema"] = kSchema;
  return document;
}

}  // namespace

ResultStore::ResultStore(const fs::path& runs_directory) : folder_(fs::absolute(runs_directory) / ".results") {
  for (const auto& id : All()) {
    const auto [key, number] = *TakeApart(id);
    newest_[key] = std::max(newest_[key], number);
  }
}

std::vector<std::string> ResultStore::All() const {
  std::vector<std::string> ids;
  for (const auto& entry : EntriesOf(folder_)) {
    if (auto id = entry.filename().string(); TakeApart(id)) ids.push_back(std::move(id));
  }
  return ids;
}

bool ResultStore::IsThere(const std::string& id) const { return Exists(FolderOf(id)); }

bool ResultStore::IsOf(const std::string& run, const std::string& id) try {
  return IsThere(id) && Read(id).run == run;
} catch (const Error&) {
  return false;  // damaged
}

std::optional<std::string> ResultStore::Newest(const std::string& key) {
  const auto known = newest_.find(key);
  // Another run may have published the first one since, and `workflow gc` may have removed any.
  for (int number = known == newest_.end() ? 1 : known->second; number > 0; --number) {
    if (!IsThere(IdOf(key, number))) continue;
    newest_[key] = number;
    return IdOf(key, number);
  }
  newest_.erase(key);
  return {};
}

std::optional<std::string> ResultStore::Hold(const std::string& key) {
  auto newest = Newest(key);
  while (lease_ && newest) {
    lease_->Add(*newest);
    const auto held = std::exchange(newest, Newest(key));
    if (newest == held) break;
  }
  return newest;
}

std::string ResultStore::NextId(const std::string& key) {
  const auto newest = Newest(key);
  return IdOf(key, newest ? newest_.at(key) + 1 : 1);
}

const StepResult& ResultStore::Read(const std::string& id) {
  const auto known = read_.find(id);
  if (known != read_.end()) return known->second;
  const auto file = FolderOf(id) / "manifest.json";
  const DocumentName name{fmt::format("'{}'", file.string()), ErrorKind::kEnvironment,
                          "remove its folder; the step runs again then"};
  return read_.emplace(id, ReadFields<StepResult>(ParseDocument(ReadDocument(file), kSchema, name), name))
      .first->second;
}

const Json& ResultStore::ValuesOf(const std::string& id) {
  auto& values = values_[id];
  if (values) return *values;
  const auto& result = Read(id);
  values = std::make_unique<Json>(result.values.is_object() ? result.values : Json::object());
  (*values)["folder"] = FolderOf(id).string();
  for (const auto& [name, output] : result.outputs) {
    (*values)["outputs"][name] = (FolderOf(id) / "outputs" / output.path).string();
  }
  return *values;
}

std::string ResultStore::WhyDamaged(const std::string& id) try {
  const auto& result = Read(id);
  for (const auto& [name, output] : result.outputs) {
    if (StampOfTree(FolderOf(id) / "outputs" / output.path) == output.stamp) continue;
    return fmt::format("output '{}' of step '{}' was changed or deleted after it was published", name, result.step);
  }
  const bool is_there = result.run_folder.empty() || Exists(result.run_folder / "state.json");
  return is_there ? "" : fmt::format("the run folder of step '{}' is gone", result.step);
} catch (const Error& error) {
  return error.message();
}

void ResultStore::Publish(const fs::path& prepared, const std::string& id, StepResult result) {
  if (lease_) lease_->Add(id);
  const auto text = Document(result).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  const bool is_durable = !result.outputs.empty();
  if (is_durable) {
    WriteFileDurably(prepared / "manifest.json", text);
    SyncTree(prepared);
  } else {
    WriteFile(prepared / "manifest.json", text);  // a loss of power costs no more than a step without files
  }
  // A folder with a manifest is not empty, so nothing is replaced.
  if (std::rename(prepared.c_str(), FolderOf(id).c_str()) != 0) {
    if (errno != ENOTEMPTY && errno != EEXIST) ThrowErrno(fmt::format("cannot publish the result '{}'", id));
    RemoveTree(prepared);
  }
  const auto parts = TakeApart(id);
  newest_[parts->first] = std::max(newest_[parts->first], parts->second);
  Complete(result, id, is_durable);
}

/// What follows the publishing. The result is there without it: a loss of power may cost it, and estimates are worse.
void ResultStore::Complete(const StepResult& result, const std::string& id, bool is_durable) const try {
  if (is_durable) SyncDirectory(folder_);
  NoteLast(result, id);
} catch (const Error& error) {
  log::Warn("after the result '{}' was published: {}", id, error.message());
}

void ResultStore::NoteLast(const StepResult& result, const std::string& id) const {
  const auto folder = folder_ / ".last" / result.workflow;
  MakeDirectories(folder);
  auto costs = CostsOf(result.workflow, result.step);
  costs.insert(costs.begin(), result.cost);
  costs.resize(std::min(costs.size(), kMostCosts));
  auto text = id + "\n";
  for (const auto& cost : costs) text += LineOf(cost);
  WriteFileAtomically(folder / result.step, text);
}

std::vector<StepCost> ResultStore::CostsOf(const std::string& workflow, const std::string& step) const {
  const auto text = ReadDocumentIfPresent(folder_ / ".last" / workflow / step).value_or("");
  LineWords lines(text);
  lines.Word('\n');  // the id
  std::vector<StepCost> costs;
  while (!lines.rest().empty()) {
    if (const auto cost = CostOn(lines.Word('\n'))) costs.push_back(*cost);
  }
  return costs;
}

std::optional<std::string> ResultStore::LastOf(const std::string& workflow, const std::string& step) const {
  const auto text = ReadDocumentIfPresent(folder_ / ".last" / workflow / step);
  if (!text) return {};
  auto id = text->substr(0, text->find('\n'));
  return TakeApart(id) && IsThere(id) ? std::optional(std::move(id)) : std::nullopt;
}

bool ResultStore::HasHad(const std::string& workflow, const std::string& step) const {
  return Exists(folder_ / ".last" / workflow / step);
}

}  // namespace slipway::launcher
