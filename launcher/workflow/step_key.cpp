#include "launcher/workflow/step_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/documents.h"
#include "core/install.h"
#include "launcher/workflow/sha256.h"
#include "launcher/workflow/step_spec.h"
#include "launcher/workflow/step_texts.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

/// Another version of Slipway may do another thing with the same words.
bool RunsSlipway(StepKind kind) { return kind != StepKind::kCommand; }

class PartsMaker {
 public:
  PartsMaker(const Workflow& workflow, const Step& step, Fingerprints& files)
      : workflow_(workflow), step_(step), files_(files) {}

  KeyParts Make() {
    Add("kind", std::string(WordOf(step_.kind())));
    if (RunsSlipway(step_.kind())) Add("slipway", std::string(Version()));
    std::visit([this](const auto& work) { AddWork(work); }, step_.work);
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
    AddPrograms(work.words, workflow_.directory);
  }
  void AddWork(const DataStep& work) {
    Add("data", Json(work.words).dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  void AddWork(const ExperimentStep& work) { AddSpec(*work.spec, work.directory); }
  void AddWork(const EnsembleStep& work) { AddSpec(*work.spec, work.directory); }
  void AddWork(const ReportStep& work) { Add("report", Json(work.steps).dump()); }

  void AddPrograms(const std::vector<std::string>& words, const fs::path& directory) {
    for (const auto& file : ProgramFiles(words, directory)) AddFile(file, directory);
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
  void AddSpec(const YamlNode& spec, const fs::path& directory) {
    for (const auto& entry : spec.entries) {
      const auto& key = entry.key;
      if (key == "description" || key == "tags" || key == "notify" || key == "report") continue;
      Add("spec " + key, YamlOf(entry.value));
    }
    if (const auto* data = spec.Find("data")) AddSources(data->value, directory);
    const auto* train = spec.Find("train");
    const auto* command = train == nullptr ? nullptr : train->value.Find("command");
    std::vector<std::string> words;
    if (command != nullptr) {
      for (const auto& word : command->value.items) words.push_back(word.text);
    }
    AddPrograms(words, directory);
  }

  void AddSources(const YamlNode& data, const fs::path& directory) {
    for (const auto& dataset : data.entries) {
      const auto* source = dataset.value.Find("source");
      if (source == nullptr) continue;
      AddSource(source->value, directory);
      for (const auto& item : source->value.items) AddSource(item, directory);
    }
  }

  /// Data sets are large: their size and time stand for them.
  void AddSource(const YamlNode& source, const fs::path& directory) {
    if (source.text.empty() || source.text.find("${") != std::string::npos) return;
    const auto path = (directory / source.text).lexically_normal();
    std::string stamps;
    for (const auto& each : MatchingPaths(path.string())) stamps += StampOfTree(each) + "\n";
    Add("data " + source.text, stamps);
  }

  const Workflow& workflow_;
  const Step& step_;
  Fingerprints& files_;
  KeyParts parts_;
};

std::string Describe(const std::string& part, std::string_view what) {
  return part.starts_with("step ") && what == "has changed" ? part + " has another result"
                                                            : fmt::format("{} {}", part, what);
}

}  // namespace

KeyParts KeyPartsOf(const Workflow& workflow, StepIndex step,
                    const std::function<std::string(StepIndex needed)>& result_of, Fingerprints& files) {
  PartsMaker maker(workflow, workflow.steps[step], files);
  auto parts = maker.Make();
  for (const auto need : workflow.needs[step]) parts.emplace_back("step " + workflow.steps[need].name, result_of(need));
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
      changes.push_back(Describe((old++)->first, "is gone"));
    } else if (old == before.end() || fresh->first < old->first) {
      changes.push_back(Describe((fresh++)->first, "is new"));
    } else {
      if (old->second != fresh->second) changes.push_back(Describe(old->first, "has changed"));
      ++old;
      ++fresh;
    }
  }
  return changes;
}

}  // namespace slipway::launcher
