#include "launcher/plan/workdir.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "core/documents.h"
#include "core/error.h"
#include "core/files.h"
#include "launcher/plan/plan.h"

namespace slipway::launcher {
namespace fs = std::filesystem;

namespace {

/// All but those of the working directory and of datasets.
OwnValues ValuesOf(const Plan& plan, const AttemptPlace& place, const TrialTerms& terms) {
  return {{"slipway.checkpoint_dir", place.checkpoints},
          {"slipway.output_dir", place.outputs},
          {"slipway.run_dir", place.run},
          {"slipway.spec_dir", plan.document.directory},
          {std::string(kOwnTrial), std::to_string(terms.trial)}};
}

fs::path Resolved(const fs::path& path) {
  const auto normal = path.lexically_normal();
  return normal.has_filename() ? normal : normal.parent_path();
}

bool WorksInSpecFolder(const Plan& plan) {
  const auto& workdir = plan.spec().launch.workdir;
  return workdir.kind == WorkdirKind::kSpec ||
         (workdir.kind == WorkdirKind::kPath && Resolved(workdir.path) == Resolved(plan.document.directory));
}

/// `python -m NAME` and `python -c` look for modules in the working directory, which for them is the spec's folder.
bool TakesModulesBesideSpec(const std::vector<std::string>& command) {
  if (command.empty()) return false;
  const auto has = [&](std::string_view word) { return std::ranges::find(command, word) != command.end(); };
  const bool is_python = fs::path(command.front()).filename().string().starts_with("python");
  return has("-m") || (is_python && has("-c"));
}

bool LeavesFolder(const fs::path& relative) { return relative.empty() || *relative.begin() == ".."; }

/// As it is called beside the spec.
fs::path NameOfLink(const fs::path& target, const fs::path& spec_directory) {
  const auto relative = Resolved(target).lexically_relative(Resolved(spec_directory));
  return LeavesFolder(relative) || relative == "." ? Resolved(target).filename() : relative;
}

bool IsLinked(const fs::path& name, const std::vector<WorkdirLink>& links) {
  const auto normal = Resolved(name);
  return std::ranges::any_of(links, [&](const WorkdirLink& link) { return BeginsWith(normal, link.name); });
}

bool HasLetter(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return std::isalpha(c) != 0; });
}

/// What words name beside the spec.
class BesideSpec {
 public:
  explicit BesideSpec(const Plan& plan) : directory_(plan.document.directory), links_(LinksOf(plan)) {}

  /// The file or folder that `word` names; empty: none.
  fs::path Find(const std::string& word) const {
    if (word.empty() || word.front() == '/' || !HasLetter(word) || IsLinked(word, links_)) return {};
    const auto path = Resolved(directory_ / word);
    std::error_code error;
    const auto type = fs::status(path, error).type();
    const bool is_meant =
        type == fs::file_type::regular || (type == fs::file_type::directory && word.find('/') != std::string::npos);
    return is_meant ? path : fs::path();
  }

  /// The same of what stands behind the first '=' of a word.
  fs::path FindValue(const std::string& word) const {
    const auto equals = word.find('=');
    return equals == std::string::npos ? fs::path() : Find(word.substr(equals + 1));
  }

  std::string Replace(const std::string& word) const {
    if (const auto path = Find(word); !path.empty()) return path;
    const auto value = FindValue(word);
    return value.empty() ? word : word.substr(0, word.find('=') + 1) + value.string();
  }

 private:
  fs::path directory_;
  std::vector<WorkdirLink> links_;
};

/// A program without a '/' is looked up on the PATH.
std::size_t FirstThatMayBeBeside(const std::vector<std::string>& words) {
  return !words.empty() && words.front().find('/') == std::string::npos ? 1 : 0;
}

void MakeLink(const fs::path& target, const fs::path& at) {
  MakeDirectories(at.parent_path());
  if (::symlink(target.c_str(), at.c_str()) == 0 || errno == EEXIST) return;
  ThrowErrno(fmt::format("cannot link '{}' to '{}'", at.string(), target.string()));
}

}  // namespace

fs::path WorkdirOf(const Plan& plan, const AttemptPlace& place, const TrialTerms& terms) {
  const auto& workdir = plan.spec().launch.workdir;
  switch (workdir.kind) {
    case WorkdirKind::kOwn: return place.run / kOwnWorkdir;
    case WorkdirKind::kSpec: return plan.document.directory;
    case WorkdirKind::kPath: break;
  }
  return ReplaceOwnNames(workdir.path, ValuesOf(plan, place, terms));
}

CommandPlace CommandPlaceOf(const Plan& plan, const StagedDirectories& data, const AttemptPlace& place,
                            const TrialTerms& terms) {
  CommandPlace at;
  at.own = ValuesOf(plan, place, terms);
  for (const auto& dataset : data) {
    if (!dataset.directory.empty()) at.own[OwnNameOfDataset(dataset.dataset)] = dataset.directory;
  }
  at.own[OwnNames().front()] = WorkdirOf(plan, place, terms);
  const bool is_elsewhere = !WorksInSpecFolder(plan);
  if (is_elsewhere && TakesModulesBesideSpec(plan.spec().train.command)) at.python_modules = plan.document.directory;
  return at;
}

std::vector<WorkdirLink> LinksOf(const Plan& plan) {
  std::vector<WorkdirLink> links;
  if (WorksInSpecFolder(plan)) return links;
  for (const auto& pattern : plan.spec().launch.files) {
    for (const auto& target : MatchingPaths(pattern)) {
      links.push_back({NameOfLink(target, plan.document.directory), Resolved(target)});
    }
  }
  return links;
}

std::vector<std::string> ProgramCommand(const Plan& plan, const StagedDirectories& data, const AttemptPlace& place,
                                        const Json& parameters, const TrialTerms& terms) {
  auto words = TrainingCommand(plan.spec().train, parameters, CommandPlaceOf(plan, data, place, terms).own);
  if (WorksInSpecFolder(plan)) return words;
  const BesideSpec beside(plan);
  for (auto at = FirstThatMayBeBeside(words); at < words.size(); ++at) words[at] = beside.Replace(words[at]);
  return words;
}

std::vector<fs::path> FilesOfCommand(const Plan& plan, const Json& parameters) {
  std::vector<fs::path> named;
  const BesideSpec beside(plan);
  const auto words = TrainingCommand(plan.spec().train, parameters);
  for (auto at = FirstThatMayBeBeside(words); at < words.size(); ++at) {
    auto path = beside.Find(words[at]);
    if (path.empty()) path = beside.FindValue(words[at]);
    if (!path.empty()) named.push_back(path.lexically_relative(Resolved(plan.document.directory)));
  }
  return named;
}

std::vector<fs::path> NamedBesideSpec(const Plan& plan, const Json& parameters) {
  return WorksInSpecFolder(plan) ? std::vector<fs::path>() : FilesOfCommand(plan, parameters);
}

void MakeWorkdir(const Plan& plan, const AttemptPlace& place, const TrialTerms& terms) {
  if (WorksInSpecFolder(plan)) return;
  const auto workdir = WorkdirOf(plan, place, terms);
  MakeDirectories(workdir);
  for (const auto& link : LinksOf(plan)) MakeLink(link.target, workdir / link.name);
}

}  // namespace slipway::launcher
