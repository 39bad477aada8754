#include "launcher/cli/commands/init.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/files.h"
#include "core/install.h"
#include "core/share_out.h"
#include "launcher/spec/describe_fields.h"
#include "launcher/spec/run_name.h"
#include "staging/make/make_data.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

struct ProjectTemplate {
  std::string_view name;   ///< and of its folder below templates/init
  std::string_view build;  ///< what comes before `slipway run`
  bool needs_data;
};
constexpr std::array kTemplates = {ProjectTemplate{"command", "", false},
                                   ProjectTemplate{"cpp", "cmake -B build && cmake --build build", true},
                                   ProjectTemplate{"ddp", "", false}, ProjectTemplate{"pytorch", "", true}};

const ProjectTemplate& Find(const std::string& name) {
  const auto found = std::ranges::find(kTemplates, name, &ProjectTemplate::name);
  if (found != kTemplates.end()) return *found;
  throw Error(ErrorKind::kUsage, fmt::format("there is no template '{}'", name),
              fmt::format("use one of: {}", fmt::join(ProjectTemplates(), ", ")));
}

fs::path FolderOf(const ProjectTemplate& chosen) {
  const auto folder = SharedDirectory() / "templates/init" / chosen.name;
  if (fs::is_directory(folder)) return folder;
  throw Error(ErrorKind::kEnvironment, fmt::format("this installation has no '{}'", folder.string()),
              "install Slipway again: cmake --install");
}

void MakeNewDirectory(const std::string& name) {
  if (::mkdir(name.c_str(), kDirectoryMode) == 0) return;
  if (errno != EEXIST) ThrowErrno(fmt::format("cannot make the folder '{}'", name));
  throw Error(ErrorKind::kUsage, fmt::format("'{}' is there already", name),
              "choose another name; nothing was changed");
}

void ReplaceAll(std::string& text, std::string_view what, std::string_view with) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

/// The files of a template, with the words that only the new project knows.
void WriteFiles(const fs::path& source, const std::string& name) {
  for (const auto& entry : fs::directory_iterator(source)) {
    auto text = ReadFile(entry.path());
    ReplaceAll(text, "@NAME@", name);
    ReplaceAll(text, "@PREFIX@", InstallPrefix().string());
    WriteFile(name / entry.path().filename(), text);
  }
}

/// Small images of collisions, for which a second of training is enough.
void MakeSmallData(const std::string& name) {
  staging::MakeOptions options;
  options.directory = name + "/data";
  options.train_records = 2000;
  options.test_records = 500;
  options.size = 16;
  options.shards = 2;
  options.threads = UsableProcessors();
  staging::MakeData(options);
}

std::vector<std::string> FilesOf(const std::string& name) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(name)) {
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  return files;
}

std::vector<std::string> NextSteps(const ProjectTemplate& chosen, const std::string& name) {
  std::vector<std::string> steps{"cd " + name};
  if (!chosen.build.empty()) steps.emplace_back(chosen.build);
  steps.emplace_back("slipway run experiment.yaml");
  return steps;
}

void Fill(const ProjectTemplate& chosen, const fs::path& source, const std::string& name) try {
  WriteFiles(source, name);
  WriteFile(fs::path(name) / "slipway.schema.json", JsonSchema().dump(2) + "\n");
  if (chosen.needs_data) MakeSmallData(name);
} catch (...) {
  RemoveTree(name);
  throw;
}

}  // namespace

std::vector<std::string> ProjectTemplates() {
  std::vector<std::string> names;
  for (const auto& known : kTemplates) names.emplace_back(known.name);
  return names;
}

int Init(const InitOptions& options, Session& session) {
  const auto& chosen = Find(options.chosen);
  if (!IsRunName(options.name)) {
    throw Error(ErrorKind::kUsage, fmt::format("'{}' cannot be the name of a project", options.name),
                "use at most 64 letters, digits, '.', '_' and '-', a letter or digit first; it becomes a folder here");
  }
  const auto source = FolderOf(chosen);
  MakeNewDirectory(options.name);
  Fill(chosen, source, options.name);
  const auto files = FilesOf(options.name);
  const auto steps = NextSteps(chosen, options.name);
  const Json document = {{"schema", "slipway.init/1"},
                         {"folder", fs::absolute(options.name).string()},
                         {"template", chosen.name},
                         {"files", files},
                         {"next", steps}};
  session.output.Print(
      {document, fmt::format("{}\n\nnext:\n  {}\n", fmt::join(files, "\n"), fmt::join(steps, "\n  ")), options.name});
  return 0;
}

}  // namespace slipway::launcher
