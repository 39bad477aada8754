#include "launcher/workflow/step_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/documents.h"
#include "core/install.h"
#include "launcher/workflow/sha256.h"
#include "launcher/workflow/step_spec.h"
#include "launcher/workflow/step_texts.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCommitPart = "commit";
constexpr std::string_view kEditPart = "edit ";

/// Another version of Slipway may do another thing with the same words.
bool RunsSlipway(StepKind kind) { return kind != StepKind::kCommand; }

class PartsMaker {
 public:
  PartsMaker(const Workflow& workflow, const Step& step, const CodeState* code, Fingerprints& files)
      : workflow_(workflow), step_(step), code_(code), files_(files) {}

  KeyParts Make() {
    Add("kind", std::string(WordOf(step_.kind())));
    if (RunsSlipway(step_.kind())) Add("slipway", std::string(Version()));
    std::visit([this](const auto& work) { AddWork(work); }, step_.work);
    if (code_ != nullptr) AddCode();
    AddPrograms();
    AddSources();
    for (const auto& [name, value] : step_.env) Add("env " + name, value);
    for (const auto& [name, value] : step_.outputs) Add("output " + name, value);
    for (const auto& [name, value] : step_.inputs) AddInput(name, value);
    for (const auto& pattern : step_.files) AddFiles(pattern);
    return std::move(parts_);
  }

  void Add(std::string name, std::string value) { parts_.emplace_back(std::move(name), std::move(value)); }

 private:
  void AddWork(const CommandStep& work) {
    Add("command", Json(work.words).dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  void AddWork(const DataStep& work) {
    Add("data", Json(work.words).dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  void AddWork(const ExperimentStep& work) { AddSpec(*work.spec); }
  void AddWork(const EnsembleStep& work) { AddSpec(*work.spec); }
  void AddWork(const ReportStep& work) { Add("report", Json(work.steps).dump()); }

  void AddCode() {
    Add(std::string(kCommitPart), code_->commit);
    for (const auto& [file, content] : code_->edited) Add(std::string(kEditPart) + file, content);
    for (const auto& [path, commit] : code_->submodules) Add("submodule " + path, commit);
  }

  /// With `code: git` only those that git does not know.
  void AddPrograms() {
    const auto& directory = ProgramFolderOf(workflow_, step_);
    for (const auto& file : ProgramFilesOf(workflow_, step_)) {
      if (code_ == nullptr || std::ranges::find(code_->untracked, file) != code_->untracked.end())
        AddFile(file, directory);
    }
  }

  void AddFile(const fs::path& file, const fs::path& directory) {
    auto name = "file " + file.lexically_relative(directory).string();
    const bool known = std::ranges::any_of(parts_, [&](const auto& part) { return part.first == name; });
    if (!known) Add(std::move(name), files_.Of(file));
  }

  void AddFiles(const std::string& pattern) {
    const auto paths = MatchingPaths(pattern);
    if (paths.empty()) Add("file " + fs::path(pattern).lexically_relative(workflow_.directory).string(), "missing");
    for (const auto& path : paths) AddFile(path, workflow_.directory);
  }

  void AddInput(const std::string& name, const std::string& value) {
    Add("input " + name, value.find("${") == std::string::npos ? files_.Of(value) : value);
  }

  /// One part for each section. What people read changes no result.
  void AddSpec(const YamlNode& spec) {
    for (const auto& entry : spec.entries) {
      const auto& key = entry.key;
      if (key == "description" || key == "tags" || key == "notify" || key == "report") continue;
      Add("spec " + key, YamlOf(entry.value));
    }
  }

  /// Data sets are large: their size and time stand for them.
  void AddSources() {
    for (const auto& source : DataSourcesOf(workflow_, step_)) {
      std::string stamps;
      for (const auto& file : source.files) stamps += files_.StampOf(file) + "\n";
      Add("data " + source.written, stamps);
    }
  }

  const Workflow& workflow_;
  const Step& step_;
  const CodeState* code_;  ///< null: files stand for the program
  Fingerprints& files_;
  KeyParts parts_;
};

/// The words of the command of an experiment.
std::vector<std::string> TrainingWords(const YamlNode& spec) {
  const auto* train = spec.Find("train");
  const auto* command = train == nullptr ? nullptr : train->value.Find("command");
  std::vector<std::string> words;
  if (command == nullptr) return words;
  for (const auto& word : command->value.items) words.push_back(word.text);
  return words;
}

bool HasProgram(const Step& step) { return step.is_run() || step.kind() == StepKind::kCommand; }

std::string Short(const std::string& commit) { return commit.substr(0, 7); }

/// `before`, `now`: null where there is no such part.
std::string Describe(const std::string& part, const std::string* before, const std::string* now) {
  if (part.starts_with(kEditPart)) {
    return fmt::format("{} {}", part.substr(kEditPart.size()),
                       now != nullptr ? "was edited" : "is as in its commit again");
  }
  if (before == nullptr) return part + " is new";
  if (now == nullptr) return part + " is gone";
  if (part == kCommitPart) return fmt::format("commit {} became {}", Short(*before), Short(*now));
  return part + (part.starts_with("step ") ? " has another result" : " has changed");
}

}  // namespace

const fs::path& ProgramFolderOf(const Workflow& workflow, const Step& step) {
  if (const auto* experiment = std::get_if<ExperimentStep>(&step.work)) return experiment->directory;
  if (const auto* ensemble = std::get_if<EnsembleStep>(&step.work)) return ensemble->directory;
  return workflow.directory;
}

std::vector<fs::path> ProgramFilesOf(const Workflow& workflow, const Step& step) {
  const auto& folder = ProgramFolderOf(workflow, step);
  if (const auto* command = std::get_if<CommandStep>(&step.work)) return ProgramFiles(command->words, folder);
  const auto* spec = SpecOf(step);
  return spec == nullptr ? std::vector<fs::path>() : ProgramFiles(TrainingWords(*spec), folder);
}

std::vector<DataSource> DataSourcesOf(const Workflow& workflow, const Step& step) {
  const auto* spec = SpecOf(step);
  const auto* data = spec == nullptr ? nullptr : spec->Find("data");
  if (data == nullptr) return {};
  std::vector<DataSource> sources;
  const auto add = [&](const YamlNode& source) {
    if (source.text.empty() || source.text.find("${") != std::string::npos) return;
    const auto path = (ProgramFolderOf(workflow, step) / source.text).lexically_normal();
    sources.push_back({source.text, MatchingPaths(path.string())});
  };
  for (const auto& dataset : data->value.entries) {
    const auto* source = dataset.value.Find("source");
    if (source == nullptr) continue;
    add(source->value);
    for (const auto& item : source->value.items) add(item);
  }
  return sources;
}

std::vector<fs::path> FilesInKey(const Workflow& workflow, const Step& step) {
  auto files = ProgramFilesOf(workflow, step);
  for (const auto& pattern : step.files) std::ranges::move(MatchingPaths(pattern), std::back_inserter(files));
  for (const auto& [name, value] : step.inputs) {
    if (value.find("${") == std::string::npos) files.emplace_back(value);
  }
  for (const auto& source : DataSourcesOf(workflow, step)) std::ranges::copy(source.files, std::back_inserter(files));
  return files;
}

KeyParts KeyPartsOf(const Workflow& workflow, StepIndex index, const KeySources& sources, Fingerprints& files) {
  const auto& step = workflow.steps[index];
  const bool by_git = step.code == CodeInKey::kGit && HasProgram(step);
  PartsMaker maker(workflow, step, by_git ? &sources.code_of(index) : nullptr, files);
  auto parts = maker.Make();
  for (const auto need : workflow.needs[index]) {
    parts.emplace_back("step " + workflow.steps[need].name, sources.result_of(need));
  }
  std::ranges::sort(parts);
  return parts;
}

std::string KeyOf(const KeyParts& parts) {
  Sha256 hash;
  for (const auto& [name, value] : parts) {
    hash.Add(fmt::format("{}:{}:", name.size(), value.size()));
    hash.Add(name);
    hash.Add(value);
  }
  return hash.Finish();
}

std::vector<std::string> WhatChanged(const KeyParts& before, const KeyParts& now) {
  std::vector<std::string> changes;
  auto old = before.begin();
  auto fresh = now.begin();
  while (old != before.end() || fresh != now.end()) {
    if (fresh == now.end() || (old != before.end() && old->first < fresh->first)) {
      changes.push_back(Describe(old->first, &old->second, nullptr));
      ++old;
    } else if (old == before.end() || fresh->first < old->first) {
      changes.push_back(Describe(fresh->first, nullptr, &fresh->second));
      ++fresh;
    } else {
      if (old->second != fresh->second) changes.push_back(Describe(old->first, &old->second, &fresh->second));
      ++old;
      ++fresh;
    }
  }
  return changes;
}

}  // namespace slipway::launcher
