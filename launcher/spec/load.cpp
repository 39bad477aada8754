#include "launcher/spec/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/environment.h"
#include "core/files.h"
#include "core/fnv1a.h"
#include "core/json_text.h"
#include "core/nearest_word.h"
#include "launcher/spec/checks.h"
#include "launcher/spec/choose_engine.h"
#include "launcher/spec/environment_references.h"
#include "launcher/spec/fields.h"
#include "launcher/spec/gpu_exchange.h"
#include "launcher/spec/override.h"
#include "launcher/spec/project_settings.h"
#include "launcher/spec/read_fields.h"
#include "launcher/spec/yaml_tree.h"

namespace slipway::launcher {
namespace fs = std::filesystem;

namespace {

/// The YAML files beside `path`, at most so many as people look through.
std::vector<std::string> YamlFilesBeside(const fs::path& path) {
  constexpr std::size_t kMost = 1'000;
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entry(path.has_parent_path() ? path.parent_path() : ".", error);
  for (const fs::directory_iterator end; !error && entry != end && names.size() < kMost; entry.increment(error)) {
    const auto extension = entry->path().extension();
    if (extension == ".yaml" || extension == ".yml") names.push_back(entry->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

std::string HintForMissing(const fs::path& path) {
  const auto nearest = NearestWord(path.filename().string(), YamlFilesBeside(path));
  if (nearest.empty()) return "give the path of a YAML file";
  return fmt::format("did you mean '{}'?", (path.parent_path() / nearest).string());
}

}  // namespace

std::string ReadYamlFile(const fs::path& path, const std::string& what) {
  std::error_code code;
  const fs::file_status status = fs::status(path, code);
  const std::string name = fmt::format("'{}'", path.string());
  if (!fs::exists(status)) throw Error(ErrorKind::kUsage, "there is no " + what + " " + name, HintForMissing(path));
  if (!fs::is_regular_file(status)) {
    throw Error(ErrorKind::kUsage, name + " is not a file", "give the path of a YAML file");
  }
  if (path.extension() == ".py" || path.extension() == ".sh") {
    throw Error(ErrorKind::kUsage, fmt::format("{} is a program, not a {}", name, what),
                "name it in train.command of a spec; 'slipway init NAME --template command' writes one to start from");
  }
  if (fs::file_size(path) > kLargestSpec) {
    throw Error(ErrorKind::kUsage,
                fmt::format("{} is larger than {} MiB: this is not a {}", name, kLargestSpec >> 20, what),
                "name the YAML file of the experiment");
  }
  return ReadFile(path);
}

namespace {

std::string ReadSettingsFile(const fs::path& file) {
  return file == kProjectSettings ? ReadProjectSettings() : ReadYamlFile(file, "settings file");
}

std::string WithoutByteOrderMark(std::string text) { return text.starts_with("\xef\xbb\xbf") ? text.substr(3) : text; }

fs::path DirectoryOf(const fs::path& path) { return fs::absolute(path).lexically_normal().parent_path(); }

class Loader {
 public:
  Loader(fs::path path, std::string text) : Loader(path, std::move(text), DirectoryOf(path)) {}

  /// Of a spec whose relative paths start elsewhere.
  Loader(fs::path path, std::string text, const fs::path& directory)
      : path_(std::move(path)),
        own_(std::make_unique<Own>()),
        sources_(own_->sources),
        report_(own_->report),
        spec_source_(sources_.Add(path_.string(), WithoutByteOrderMark(std::move(text)), directory)) {
    BeginTree();
  }
  /// Of a spec in a file that others read.
  Loader(Sources& sources, Report& report, int source) : sources_(sources), report_(report), spec_source_(source) {
    BeginTree();
  }

  void AddSettings(const fs::path& file) {
    const int source = sources_.Add(file.string(), WithoutByteOrderMark(ReadSettingsFile(file)), DirectoryOf(file));
    settings_.insert(source);
    std::optional<YamlNode> tree = Parse(source);
    if (!tree) return;
    if (tree->kind != YamlNode::Kind::kMap && tree->kind != YamlNode::Kind::kNull) {
      report_.Error(tree->place, "a settings file is a map of fields such as 'tiers: {scratch: dir:/scratch}'");
      return;
    }
    if (file == UserSettingsDirectory() / "config.yaml") LeaveRemotes(*tree);
    for (const YamlEntry& entry : tree->entries) {
      if (!MayStandInSettings(entry.key)) {
        report_.Error(entry.key_place, Quoted(entry.key) + " belongs in a spec, not in a settings file");
      }
    }
    Merge(FieldTree(), tree_, std::move(*tree));
  }

  void AddSpec() { AddSpec(Parse(spec_source_)); }
  /// Its references were replaced before.
  void AddWrittenSpec() { AddSpec(ParseYaml(sources_, spec_source_, report_)); }

  void AddSpec(std::optional<YamlNode> tree) {
    if (!tree) return Stop();
    if (tree->kind == YamlNode::Kind::kNull) {
      report_.Error({spec_source_}, "the spec is empty");
      return Stop();
    }
    if (tree->kind != YamlNode::Kind::kMap) {
      report_.Error(tree->place, "a spec is a map of fields such as 'name: fashion'");
      return Stop();
    }
    Merge(FieldTree(), tree_, std::move(*tree));
  }

  void AddOverride(const std::string& text) {
    auto given = ParseOverride(text, sources_, report_);
    if (!given) return;
    // The value stands somewhere below: nothing is known of it before it is laid over the rest.
    ExpandReferences(given->value, nullptr, sources_, LookUpInEnvironment, report_);
    if (RemovesNothing(*given)) {
      report_.Error(given->value.place,
                    fmt::format("'{}' is a section, and {} removes nothing from it: set its fields one by "
                                "one, or edit the spec",
                                given->key, text.substr(given->key.size() + 1)));
      return;
    }
    Merge(FieldTree(), tree_, TreeOf(std::move(*given)));
  }

  void AddTree(YamlNode tree) { Merge(FieldTree(), tree_, std::move(tree)); }

  /// Reports what is wrong, and nothing more.
  void Check() {
    Draft draft;
    ReadFields(tree_, sources_, settings_, report_, draft);
    CompleteAndCheck(sources_, report_, draft);
  }

  SiteSpec FinishSite() {
    Draft draft;
    ReadSettings(tree_, sources_, settings_, report_, draft);
    ResolveSite(report_, draft);
    Stop();
    auto site = BuildSite(draft.values());
    for (auto& tier : site.tiers) tier.origin = draft.origins["site.tiers." + tier.name];
    return site;
  }

  SpecDocument Finish() {
    Draft draft;
    ReadFields(tree_, sources_, settings_, report_, draft);
    auto document = Finish(draft);
    AddRemarks(document);
    return document;
  }

  /// What was laid over `run` instead of a spec.
  SpecDocument FinishChanges(const SpecDocument& run, RunKind kind) {
    Draft draft;
    draft.origins = run.origins;
    ReadChanges(tree_, *run.resolved, sources_, report_, draft);
    CheckChanges(*run.resolved, kind, report_, draft);
    auto document = Finish(draft);
    document.directory = run.directory;
    document.changes = ChangesBetween(*run.resolved, *document.resolved);
    AddRemarks(document);
    return document;
  }

 private:
  /// They are no fields of a spec: `slipway --on` reads them by itself (cli/remote/remotes.h).
  static void LeaveRemotes(YamlNode& settings) {
    std::erase_if(settings.entries, [](const YamlEntry& entry) { return entry.key == "remotes"; });
  }

  SpecDocument Finish(Draft& draft) {
    CompleteAndCheck(sources_, report_, draft);
    Stop();
    return Document(draft);
  }

  std::optional<YamlNode> Parse(int source) {
    std::optional<YamlNode> tree = ParseYaml(sources_, source, report_);
    if (tree) ExpandReferences(*tree, &FieldTree(), sources_, LookUpInEnvironment, report_);
    return tree;
  }

  /// Null or {} for a section that every spec has, or for what a user named: laid over the rest it changes nothing.
  static bool RemovesNothing(const Override& given) {
    const auto& value = given.value;
    const bool is_empty =
        value.kind == YamlNode::Kind::kNull || (value.kind == YamlNode::Kind::kMap && value.entries.empty());
    const FieldNode* node = is_empty ? &FieldTree() : nullptr;
    for (const auto& part : given.parts) node = node == nullptr ? nullptr : node->Child(part.key);
    if (node == nullptr) return false;
    const auto* field = node->field;
    if (field == nullptr) return true;
    return field->type.kind == TypeKind::kSection && field->type.presence != SectionPresence::kOptional;
  }

  static void AddRemarks(SpecDocument& document) {
    auto remarks = RemarksOnEnvironment(document);
    document.warnings.insert(document.warnings.end(), remarks.begin(), remarks.end());
  }

  /// Throws when something was found.
  void Stop() {
    if (report_.HasErrors()) throw SpecError(report_.TakeErrors());
  }

  /// No error: a program may keep its tensors in the memory of the CPU.
  void WarnOfGpuExchange(const Spec& spec, const Draft& draft) {
    const auto why = WhyRefusedOnGpus(spec, spec.gradients.gpu_exchange);
    if (!why.empty()) report_.Warn(draft.PlaceOf("gradients.gpu_exchange"), why + "; write gpu_exchange: auto");
  }

  SpecDocument Document(Draft& draft) {
    SpecDocument document;
    document.spec = BuildSpec(draft.values());
    auto chosen = ChooseEngine(document.spec.launch.engine, LookForEngines(Environment::Inherited()));
    document.spec.launch.engine = chosen.engine;
    document.engine_reason = std::move(chosen.reason);
    WarnOfGpuExchange(document.spec, draft);
    document.warnings = report_.TakeWarnings();
    document.origins = std::move(draft.origins);
    for (const auto& [path, place] : draft.places) document.places.emplace(path, report_.At(place));
    document.source = sources_[spec_source_].text;
    document.file = path_;
    document.directory = sources_[spec_source_].directory;
    document.spec_hash = HashOf(draft.values());
    document.resolved = std::make_shared<const Json>(std::move(draft.values()));
    return document;
  }

  /// Where the data lies on this machine, and who looks at it, does not make it another experiment.
  static std::string HashOf(const Json& values) {
    Json experiment = values;
    for (const auto* key : {"site", "tags", "notify"}) experiment.erase(key);
    experiment["train"]["metrics"].erase("tensorboard");
    const auto text = JsonText(experiment);
    return fmt::format("{:016x}", Fnv1a64(text));
  }

  struct Own {
    Sources sources;
    Report report{sources};
  };

  void BeginTree() {
    tree_.kind = YamlNode::Kind::kMap;
    tree_.place.source = spec_source_;
  }

  fs::path path_;
  std::unique_ptr<Own> own_;
  Sources& sources_;
  Report& report_;
  int spec_source_;
  std::set<int> settings_;
  YamlNode tree_;
};

bool SameFile(const fs::path& a, const fs::path& b) {
  std::error_code code;
  return fs::equivalent(a, b, code);
}

}  // namespace

fs::path UserSettingsDirectory() {
  const char* home = std::getenv("HOME");
  const char* config = std::getenv("XDG_CONFIG_HOME");
  if (config != nullptr && *config != '\0') return fs::path(config) / "slipway";
  return home == nullptr ? fs::path() : fs::path(home) / ".config" / "slipway";
}

std::vector<fs::path> SettingsFiles() {
  std::vector<fs::path> result;
  const auto user = UserSettingsDirectory();
  const auto own = user.empty() ? user : user / "config.yaml";
  const auto site = Variable("SLIPWAY_SITE");
  const bool named = !site.empty();
  if (named) result.emplace_back(site);
  for (const fs::path& file :
       {named ? fs::path() : fs::path("/etc/slipway/site.yaml"), own, fs::path(kProjectSettings)}) {
    if (IsRegularFile(file)) result.push_back(file);
  }
  return result;
}

SpecDocument LoadSpec(const fs::path& path, const std::vector<std::string>& overrides) {
  return LoadSpec(path, overrides, SettingsFiles());
}

SpecDocument LoadSpec(const fs::path& path, const std::vector<std::string>& overrides,
                      const std::vector<fs::path>& settings) {
  Loader loader(path, ReadYamlFile(path, "spec"));
  for (const fs::path& file : settings) {
    if (!SameFile(file, path)) loader.AddSettings(file);
  }
  loader.AddSpec();
  for (const std::string& text : overrides) loader.AddOverride(text);
  return loader.Finish();
}

void CheckSpecTree(YamlNode tree, Sources& sources, Report& report) {
  Loader loader(sources, report, tree.place.source);
  for (const fs::path& file : SettingsFiles()) loader.AddSettings(file);
  loader.AddTree(std::move(tree));
  loader.Check();
}

SpecDocument LoadWrittenSpec(const fs::path& path, const fs::path& directory) {
  return LoadSpecText(ReadYamlFile(path, "spec"), path, directory);
}

SpecDocument LoadSpecText(std::string text, const fs::path& name, const fs::path& directory) {
  Loader loader(name, std::move(text), directory);
  for (const fs::path& file : SettingsFiles()) loader.AddSettings(file);
  loader.AddWrittenSpec();
  return loader.Finish();
}

SpecDocument ChangeSpec(const SpecDocument& run, const std::vector<std::string>& overrides, RunKind kind) {
  Loader loader(run.file, run.source);
  for (const std::string& text : overrides) loader.AddOverride(text);
  return loader.FinishChanges(run, kind);
}

SiteSpec LoadSite(const std::vector<fs::path>& settings) {
  Loader loader("settings", {});
  for (const fs::path& file : settings) loader.AddSettings(file);
  return loader.FinishSite();
}

std::vector<staging::TierDefinition> SiteTiersOf(const SpecDocument& document) {
  auto tiers = document.spec.site.tiers;
  for (auto& tier : tiers) {
    const auto origin = document.origins.find("site.tiers." + tier.name);
    if (origin != document.origins.end()) tier.origin = origin->second;
  }
  return tiers;
}

}  // namespace slipway::launcher
