#include "launcher/run/workflow/step_reuse.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "launcher/provenance/git_helper.h"

namespace slipway::launcher {
namespace fs = std::filesystem;
namespace {

/// Empty: there is none.
fs::path WorkTreeOf(fs::path folder) {
  std::error_code error;
  for (; folder.has_relative_path(); folder = folder.parent_path()) {
    if (fs::exists(folder / ".git", error)) return folder;
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

constexpr std::size_t kMostChangesNamed = 3;
constexpr auto kShortLook = std::chrono::milliseconds(50);
constexpr int kLookCountsFor = 20;  ///< times as long as it took

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

StepReuse::StepReuse(const Workflow& workflow, ResultStore& store, const std::vector<std::string>& forced,
                     const std::map<std::string, std::string>& made, Clock& clock)
    : workflow_(workflow),
      store_(store),
      forced_(forced),
      made_(made),
      clock_(clock),
      code_(workflow),
      decisions_(workflow.steps.size()) {}

bool StepReuse::IsForced(const Step& step) const {
  return std::ranges::any_of(forced_, [&](const auto& name) { return name == step.name || name == step.group; });
}

const StepDecision& StepReuse::Decide(StepIndex index) {
  const auto& step = workflow_.steps[index];
  StepDecision decision;
  const KeySources sources{[this](StepIndex need) { return of(need).id; },
                           [this](StepIndex program) -> const CodeState& { return code_.Of(program); }};
  // First: a change between the stamp and the look at the content is seen later, as a change.
  for (const auto& file : FilesInKey(workflow_, step)) decision.stamps[file.string()] = files_.StampOf(file);
  decision.parts = KeyPartsOf(workflow_, index, sources, files_);
  decision.key = KeyOf(decision.parts);
  const auto newest = store_.Hold(decision.key);
  const auto damage = newest ? store_.WhyDamaged(*newest) : std::string();
  const auto made = made_.find(step.name);
  decision.own = newest && made != made_.end() && made->second == *newest;
  if (newest && damage.empty() && (decision.own || !IsForced(step))) {
    decision.reuse = true;
    decision.id = *newest;
  } else {
    decision.id = store_.NextId(decision.key);
    const auto why = newest ? (damage.empty() ? "forced" : damage) : WhyAgain(step, decision);
    decision.is_first = !why;
    decision.why = why.value_or("it has not run yet");
  }
  return decisions_[index].emplace(std::move(decision));
}

const std::string& StepReuse::LookAt(const std::filesystem::path& path) {
  const auto began = clock_.Steady();
  auto& look = looks_[path.string()];
  if (began < look.counts_until) return look.stamp;
  auto [stamp, changed] = LookAtTree(path);
  look.stamp = std::move(stamp);
  const auto ended = clock_.Steady();
  const auto period = kLookCountsFor * (ended - began);
  const bool counts = ended - began >= kShortLook && changed && *changed < clock_.Now() - period;
  look.counts_until = counts ? ended + period : ended;
  return look.stamp;
}

bool StepReuse::DecideAgainIfChanged(StepIndex index) {
  const auto files = FilesInKey(workflow_, workflow_.steps[index]);
  std::map<std::string, std::string> now;
  for (const auto& file : files) now[file.string()] = LookAt(file);
  if (now == of(index).stamps) return false;
  // Another step may have looked again already.
  const auto changed = std::ranges::count_if(files, [this](const auto& file) { return files_.Refresh(file); });
  if (changed > 0) code_.Forget();
  Decide(index);
  return true;
}

std::optional<std::string> StepReuse::WhyAgain(const Step& step, const StepDecision& decision) const try {
  const auto last = store_.LastOf(workflow_.name, step.name);
  if (!last && !store_.HasHad(workflow_.name, step.name)) return {};
  if (!last) return "its last result was removed";
  auto changes = WhatChanged(store_.Read(*last).parts, decision.parts);
  const auto more = changes.size() > kMostChangesNamed ? changes.size() - kMostChangesNamed : 0;
  changes.resize(changes.size() - more);
  return fmt::format("{}{}", fmt::join(changes, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
} catch (const Error& error) {
  return error.message();
}

}  // namespace slipway::launcher
