#include "launcher/exports/mlflow_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/documents.h"
#include "core/error.h"
#include "core/files.h"
#include "core/fnv1a.h"
#include "core/json_text.h"
#include "core/ownership.h"
#include "core/parse_utc.h"

namespace slipway::launcher {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kLongestPart = 200;        // of a component of a path
constexpr std::size_t kLongestParameter = 6000;  // of a parameter, as MLflow has it

// ---- names

bool IsAllowedInMlflow(unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.' || c == ' '; }

/// "a//../b?" -> "a/_/b_".
std::string Cleaned(const std::string& name) {
  std::string path;
  std::size_t begin = 0;
  while (begin <= name.size()) {
    const auto end = std::min(name.find('/', begin), name.size());
    auto part = name.substr(begin, std::min(end - begin, kLongestPart));
    std::ranges::replace_if(
        part, [](unsigned char c) { return !IsAllowedInMlflow(c); }, '_');
    if (part == "." || part == "..") part = "_";
    if (!part.empty()) path += (path.empty() ? "" : "/") + part;
    begin = end + 1;
  }
  return path.empty() ? "_" : path;
}

std::vector<std::string> FoldersOn(const std::string& path) {
  std::vector<std::string> folders;
  for (auto at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1)) {
    folders.push_back(path.substr(0, at));
  }
  return folders;
}

// ---- documents

/// A double-quoted text of JSON is one of YAML.
std::string YamlText(const std::string& text) { return Json(text).dump(-1, ' ', true, Json::error_handler_t::replace); }

std::string Milliseconds(const std::optional<double>& time) {
  return time ? std::to_string(static_cast<std::int64_t>(*time * 1000)) : "null";
}

/// 32 hexadecimal digits, the same for each export of the same.
std::string RunNumber(const std::string& run, const std::optional<ensemble::TrialNumber>& trial) {
  const auto text = trial ? fmt::format("{}/{}", run, *trial) : run;
  return fmt::format("{:016x}{:016x}", Fnv1a64(text), Fnv1a64("slipway:" + text));
}

/// RunStatus of MLflow.
int StatusNumber(const std::string& state) {
  constexpr int kRunning = 1, kScheduled = 2, kFinished = 3, kFailed = 4, kKilled = 5;
  if (state == "succeeded" || state == "complete") return kFinished;
  if (state == "failed" || state == "lost") return kFailed;
  if (state == "cancelled" || state == "pruned") return kKilled;
  return state == "running" || state == "staging" ? kRunning : kScheduled;
}

std::string ParameterText(const Json& value) {
  auto text = PlainText(value);
  if (text.size() > kLongestParameter) text.resize(kLongestParameter);
  return text;
}

/// A run of the store.
struct MlflowRun {
  std::string number;
  std::string name;
  std::string state;
  std::optional<double> started;
  std::optional<double> ended;
  Json parameters = Json::object();
  std::map<std::string, std::string> tags = {};
};

/// Where experiments live in a store.
struct Experiment {
  std::string id;
  fs::path folder;
};

std::string MetaOf(const MlflowRun& run, const Experiment& experiment) {
  std::string text;
  const auto add = [&](const char* key, const std::string& value) { text += fmt::format("{}: {}\n", key, value); };
  add("artifact_uri", YamlText("file://" + (experiment.folder / run.number / "artifacts").string()));
  add("end_time", Milliseconds(run.ended));
  add("entry_point_name", "''");
  add("experiment_id", YamlText(experiment.id));
  add("lifecycle_stage", "active");
  add("run_id", YamlText(run.number));
  add("run_name", YamlText(run.name));
  add("run_uuid", YamlText(run.number));
  add("source_name", "''");
  add("source_type", "4");
  add("source_version", "''");
  add("start_time", Milliseconds(run.started));
  add("status", std::to_string(StatusNumber(run.state)));
  add("tags", "[]");
  add("user_id", YamlText(run.tags.at("mlflow.user")));
  return text;
}

// ---- the store

/// The experiment of this name that is there; its meta.yaml is of MLflow or of an earlier export.
std::optional<Experiment> FindExperiment(const fs::path& store, const std::string& name) {
  if (!fs::is_directory(store)) return {};
  for (const auto& entry : fs::directory_iterator(store)) {
    const auto meta = entry.is_directory() ? ReadDocumentIfPresent(entry.path() / "meta.yaml") : std::nullopt;
    if (!meta) continue;
    for (const auto& written : {name, YamlText(name), "'" + name + "'"}) {
      if (("\n" + *meta + "\n").find(fmt::format("\nname: {}\n", written)) == std::string::npos) continue;
      return Experiment{entry.path().filename().string(), entry.path()};
    }
  }
  return {};
}

/// A folder that holds only what MLflow puts into a store.
bool IsStore(const fs::path& folder) {
  return std::ranges::all_of(fs::directory_iterator(folder), [](const fs::directory_entry& entry) {
    const auto name = entry.path().filename().string();
    return name == ".trash" || name == "models" || fs::exists(entry.path() / "meta.yaml");
  });
}

void RequireStore(const fs::path& store, Foreign foreign) {
  if (fs::exists(store) && !fs::is_directory(store)) {
    throw Error(ErrorKind::kUsage, fmt::format("'{}' is no folder", store.string()), "name a folder");
  }
  if (foreign == Foreign::kReplace || !fs::exists(store) || IsStore(store)) return;
  throw Error(ErrorKind::kUsage, fmt::format("'{}' is not empty, and no file store of MLflow", store.string()),
              "name another folder, such as mlruns, or give --force to write into this one");
}

Experiment MakeExperiment(const fs::path& store, const std::string& name, double created) {
  if (auto found = FindExperiment(store, name)) return *found;
  const auto id = std::to_string(Fnv1a64(name) % 1'000'000'000'000'000'000ULL);
  Experiment experiment{id, store / id};
  MakeDirectories(experiment.folder);
  const auto time = Milliseconds(created);
  WriteFileAtomically(
      experiment.folder / "meta.yaml",
      fmt::format("artifact_location: {}\ncreation_time: {}\nexperiment_id: {}\n"
                  "last_update_time: {}\nlifecycle_stage: active\nname: {}\n",
                  YamlText("file://" + experiment.folder.string()), time, YamlText(id), time, YamlText(name)));
  return experiment;
}

/// Writes runs into a folder beside the store, then puts them into it.
class MlflowWriter {
 public:
  MlflowWriter(const RunFolder& folder, const ExportedRun& run, const fs::path& store)
      : folder_(folder), run_(run), created_(UnixSecondsIn(run.state.created).value_or(0)), temporary_(store) {
    MakeDirectories(store);
    experiment_ = MakeExperiment(store, run.state.name.empty() ? folder.id() : run.state.name, created_);
  }

  int Write() {
    Begin(Parent());
    for (const auto& session : run_.sessions) {
      if (session.trial) Begin(ChildOf(session));
    }
    ForEachValue(folder_, run_, [this](const RunValue& value) { Take(value); });
    files_.Flush();
    for (const auto& number : written_) ReplacePath(temporary_.path() / number, experiment_.folder / number);
    return static_cast<int>(written_.size());
  }

 private:
  std::map<std::string, std::string> TagsFor(const std::string& name) const {
    return {{"mlflow.runName", name},
            {"mlflow.user", UserName(::geteuid())},
            {"mlflow.source.type", "LOCAL"},
            {"mlflow.source.name", folder_.path().string()},
            {"slipway.run", folder_.id()}};
  }

  MlflowRun Parent() const {
    MlflowRun run{RunNumber(folder_.id(), {}), folder_.id(), std::string(PhaseName(run_.state.phase)), created_,
                  UnixSecondsIn(run_.state.ended)};
    if (!run_.state.ensemble && !run_.sessions.empty()) run.parameters = run_.sessions.back().parameters;
    run.tags = TagsFor(folder_.id());
    if (!run_.tags.description.empty()) run.tags["mlflow.note.content"] = run_.tags.description;
    if (!run_.tags.tags.empty()) run.tags["slipway.tags"] = fmt::format("{}", fmt::join(run_.tags.tags, " "));
    return run;
  }

  MlflowRun ChildOf(const RunSession& session) const {
    const auto name = SessionFolder(session);
    MlflowRun run{RunNumber(folder_.id(), session.trial), name,          session.state,
                  session.started.value_or(created_),     session.ended, session.parameters};
    run.tags = TagsFor(name);
    run.tags["mlflow.parentRunId"] = RunNumber(folder_.id(), {});
    run.tags["slipway.state"] = session.state;
    return run;
  }

  void Begin(const MlflowRun& run) {
    const auto place = temporary_.path() / run.number;
    for (const auto* inside : {"artifacts", "metrics", "params", "tags"}) MakeDirectories(place / inside);
    files_.Append(place / "meta.yaml", MetaOf(run, experiment_));
    for (const auto& [name, text] : run.tags) files_.Append(place / "tags" / name, text);
    for (const auto& [name, value] : run.parameters.items()) {
      files_.Append(place / "params" / names_.PathOf(name), ParameterText(value));
    }
    written_.push_back(run.number);
  }

  void Take(const RunValue& value) {
    const auto place = temporary_.path() / RunNumber(folder_.id(), value.trial);
    const auto time = value.time != 0 ? value.time : created_;
    files_.Append(place / "metrics" / names_.PathOf(value.name),
                  fmt::format("{} {} {}\n", static_cast<std::int64_t>(time * 1000), value.value, value.step));
  }

  const RunFolder& folder_;
  const ExportedRun& run_;
  double created_;
  FolderBeside temporary_;
  Experiment experiment_;
  ManyFiles files_;
  MlflowNames names_;
  std::vector<std::string> written_;
};

}  // namespace

const std::string& MlflowNames::PathOf(const std::string& name) {
  if (const auto known = paths_.find(name); known != paths_.end()) return known->second;
  auto path = Cleaned(name);
  const auto collides = [&](const std::string& file) {
    return folders_.contains(file) ||
           std::ranges::any_of(FoldersOn(file), [&](const auto& on) { return files_.contains(on); });
  };
  if (collides(path)) std::ranges::replace(path, '/', '.');
  auto unique = path;
  for (int i = 2; files_.contains(unique) || collides(unique); ++i) unique = fmt::format("{}_{}", path, i);
  files_.insert(unique);
  for (const auto& folder : FoldersOn(unique)) folders_.insert(folder);
  return paths_[name] = unique;
}

int WriteMlflow(const RunFolder& folder, const ExportedRun& run, const fs::path& store, Foreign foreign) {
  const auto path = ResolvedFolder(store);
  RequireStore(path, foreign);
  return MlflowWriter(folder, run, path).Write();
}

}  // namespace slipway::launcher
