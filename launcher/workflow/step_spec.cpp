#include "launcher/workflow/step_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "launcher/spec/convert.h"
#include "launcher/spec/environment_references.h"
#include "launcher/spec/load.h"
#include "launcher/spec/override.h"
#include "launcher/spec/read_fields.h"
#include "launcher/workflow/reference.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;
using Kind = YamlNode::Kind;

/// The checks of the spec take a value with a reference as unknown.
bool MarkUnknown(YamlNode& node) {
  const auto pieces = node.kind == Kind::kScalar ? SplitAtReferences(node.text) : std::vector<Piece>();
  const auto is_reference = [](const Piece& piece) { return std::holds_alternative<Reference>(piece); };
  node.broken = node.broken || std::ranges::any_of(pieces, is_reference);
  bool any = node.broken;
  for (auto& item : node.items) any = MarkUnknown(item) || any;
  for (auto& entry : node.entries) any = MarkUnknown(entry.value) || any;
  return any;
}

/// Paths of other files start elsewhere.
void MakeAbsolute(YamlNode& node, const FieldNode* field, const Sources& sources, const fs::path& directory) {
  const bool is_path = field != nullptr && field->field != nullptr && field->field->type.kind == TypeKind::kPath;
  const auto& own = sources[node.place.source].directory;
  if (is_path && node.kind == Kind::kScalar && own != directory && node.text.find("${") == std::string::npos) {
    node.text = (own / WithHome(node.text)).lexically_normal().string();
  }
  for (auto& item : node.items) MakeAbsolute(item, field, sources, directory);
  for (auto& entry : node.entries) {
    MakeAbsolute(entry.value, field == nullptr ? nullptr : field->Child(entry.key), sources, directory);
  }
}

class SpecMaker {
 public:
  SpecMaker(StepSpecSources made_of, Sources& sources, Report& report)
      : made_of_(std::move(made_of)), sources_(sources), report_(report) {}

  Work Make() {
    auto spec = std::make_shared<YamlNode>();
    spec->kind = Kind::kMap;
    spec->place = made_of_.place;
    if (made_of_.defaults.kind == Kind::kMap) Merge(FieldTree(), *spec, std::move(made_of_.defaults));
    if (auto given = GivenSpec()) Merge(FieldTree(), *spec, std::move(*given));
    for (auto& set : made_of_.set) LayOver(*spec, std::move(set));
    const auto directory = sources_[made_of_.experiment.place.source].directory / relative_;
    NameIt(*spec);
    MakeAbsolute(*spec, &FieldTree(), sources_, directory.lexically_normal());
    Check(*spec);
    return WorkFor(std::move(spec), directory.lexically_normal());
  }

 private:
  std::optional<YamlNode> GivenSpec() {
    if (made_of_.experiment.kind == Kind::kMap) return std::move(made_of_.experiment);
    if (made_of_.experiment.kind == Kind::kScalar) return FromFile(made_of_.experiment);
    report_.Error(made_of_.experiment.place, "'experiment' is a spec, or the path of one");
    return {};
  }

  std::optional<YamlNode> FromFile(const YamlNode& word) {
    const auto named = WithHome(word.text);
    const auto file = (sources_[word.place.source].directory / named).lexically_normal();
    std::string text;
    try {
      text = ReadYamlFile(file, "spec");
    } catch (const Error& error) {
      report_.Error(word.place, error.message());
      return {};
    }
    relative_ = named.parent_path();
    const int source = sources_.Add(file.string(), std::move(text), file.parent_path());
    auto tree = ParseYaml(sources_, source, report_);
    if (tree && tree->kind != Kind::kMap)
      report_.Error(tree->place, "a spec is a map of fields such as 'name: fashion'");
    if (!tree || tree->kind != Kind::kMap) return {};
    ExpandReferences(*tree, &FieldTree(), sources_, LookUpInEnvironment, report_, kWorkflowReferences);
    return tree;
  }

  void LayOver(YamlNode& spec, YamlNode set) {
    if (set.kind != Kind::kMap) {
      return report_.Error(set.place, "'set' is a map of dotted paths to values, such as {train.args.epochs: 20}");
    }
    for (auto& entry : set.entries) {
      Override given{entry.key, SplitKey(entry.key, entry.key_place.source), std::move(entry.value)};
      for (auto& part : given.parts) part.key_place = entry.key_place;
      Merge(FieldTree(), spec, TreeOf(std::move(given)));
    }
  }

  void NameIt(YamlNode& spec) const {
    if (spec.Find("name") != nullptr) return;
    YamlNode name;
    name.kind = Kind::kScalar;
    name.place = made_of_.place;
    name.text = made_of_.step;
    spec.entries.insert(spec.entries.begin(), {"name", made_of_.place, std::move(name)});
  }

  void Check(const YamlNode& spec) {
    auto checked = spec;
    MarkUnknown(checked);
    CheckSpecTree(std::move(checked), sources_, report_);
  }

  static Work WorkFor(std::shared_ptr<const YamlNode> spec, fs::path directory) {
    const auto* ensemble = spec->Find("ensemble");
    if (ensemble == nullptr || ensemble->value.kind != Kind::kMap) return ExperimentStep{spec, std::move(directory)};
    EnsembleStep step{spec, std::move(directory), {}};
    if (const auto* space = ensemble->value.Find("space")) {
      for (const auto& entry : space->value.entries) step.parameters.push_back(entry.key);
    }
    return step;
  }

  StepSpecSources made_of_;
  Sources& sources_;
  Report& report_;
  fs::path relative_;  ///< of the spec's file
};

/// A text that YAML reads as it is; what only looks like a number or a truth value is quoted.
std::string ScalarText(const YamlNode& node) {
  const bool is_text = node.quoted || PlainScalar(node).is_string() || PlainScalar(node).is_null();
  return is_text ? Json(node.text).dump(-1, ' ', false, Json::error_handler_t::replace) : node.text;
}

void Write(const YamlNode& node, std::size_t indent, std::string& text) {
  const std::string begin = "\n" + std::string(indent, ' ');
  switch (node.kind) {
    case Kind::kNull: text += " null"; break;
    case Kind::kScalar: text += " " + ScalarText(node); break;
    case Kind::kList:
      if (node.items.empty()) text += " []";
      for (const auto& item : node.items) {
        text += begin + "-";
        Write(item, indent + 2, text);
      }
      break;
    case Kind::kMap:
      if (node.entries.empty()) text += " {}";
      for (const auto& entry : node.entries) {
        text += begin + Json(entry.key).dump() + ":";
        Write(entry.value, indent + 2, text);
      }
  }
}

}  // namespace

Work ReadSpecOfStep(StepSpecSources made_of, Sources& sources, Report& report) {
  return SpecMaker(std::move(made_of), sources, report).Make();
}

std::string YamlOf(const YamlNode& node) {
  std::string text;
  Write(node, 0, text);
  return text.substr(text.find_first_not_of('\n')) + "\n";
}

}  // namespace slipway::launcher
