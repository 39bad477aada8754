#include "launcher/run/workflow/code_states.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "launcher/provenance/git_helper.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

/// Empty: there is none.
fs::path WorkTreeOf(fs::path folder) {
  for (; folder.has_relative_path(); folder = folder.parent_path()) {
    if (Exists(folder / ".git")) return folder;
  }
  return {};
}

fs::path WorkTreeOfStep(const Workflow& workflow, const Step& step) {
  for (const auto& file : ProgramFilesOf(workflow, step)) {
    if (auto root = WorkTreeOf(file.parent_path()); !root.empty()) return root;
  }
  return WorkTreeOf(ProgramFolderOf(workflow, step));
}

CodeState StateFrom(const Json& members, const fs::path& root) {
  if (const auto why = members.value("not_recorded", ""); !why.empty()) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("the state of the program in '{}' is not known: {}", root.string(), why),
                "correct it, or write code: files");
  }
  CodeState state;
  state.commit = members.value("commit", "");
  for (const auto& [file, content] : members.at("edited").items()) state.edited[file] = content.get<std::string>();
  for (const auto& each : members.at("submodules")) {
    const auto& commit = each.at("commit");
    state.submodules[each.at("path").get<std::string>()] = commit.is_string() ? commit.get<std::string>() : "none";
  }
  for (const auto& file : members.at("unknown")) state.untracked.emplace_back(file.get<std::string>());
  return state;
}

}  // namespace

const CodeState& CodeStates::Of(StepIndex index) {
  const auto& step = workflow_.steps[index];
  const auto root = WorkTreeOfStep(workflow_, step);
  if (root.empty()) {
    throw Error(ErrorKind::kUsage,
                fmt::format("step '{}' has code: git, and '{}' is in no git work tree", step.name,
                            ProgramFolderOf(workflow_, step).string()),
                "make one with git init, or write code: files");
  }
  const auto known = states_.find(root);
  if (known != states_.end()) return known->second;
  std::vector<std::string> words{"contents", root.string()};
  for (auto& file : ProgramsIn(root)) words.push_back(std::move(file));
  return states_.emplace(root, StateFrom(AskGit(std::move(words)), root)).first->second;
}

std::vector<std::string> CodeStates::ProgramsIn(const fs::path& root) const {
  std::vector<std::string> files;
  for (const auto& step : workflow_.steps) {
    if (step.code != CodeInKey::kGit) continue;
    for (const auto& file : ProgramFilesOf(workflow_, step)) {
      if (WorkTreeOf(file.parent_path()) == root) files.push_back(file.string());
    }
  }
  std::ranges::sort(files);
  files.erase(std::ranges::unique(files).begin(), files.end());
  return files;
}

}  // namespace slipway::launcher
