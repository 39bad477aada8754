#include "launcher/workflow/workflow_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "launcher/spec/convert.h"
#include "launcher/spec/environment_references.h"
#include "launcher/spec/load.h"
#include "launcher/workflow/is_workflow_file.h"
#include "launcher/workflow/reference.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;
using Kind = YamlNode::Kind;

constexpr std::size_t kDeepestInclude = 16;

/// Takes an entry out of a map.
std::optional<YamlEntry> TakeEntry(YamlNode& map, std::string_view key) {
  const auto found = std::ranges::find(map.entries, key, &YamlEntry::key);
  if (found == map.entries.end()) return {};
  auto entry = std::move(*found);
  map.entries.erase(found);
  return entry;
}

class Includer {
 public:
  Includer(Sources& sources, Report& report) : sources_(sources), report_(report) {}

  WorkflowFiles Read(const fs::path& file) {
    WorkflowFiles result;
    const int source = sources_.Add(file.string(), ReadYamlFile(file, "workflow"), DirectoryOf(file));
    result.source = sources_[source].text;
    open_.push_back(Canonical(file));
    result.tree = ReadSource(source);
    result.included = std::move(included_);
    return result;
  }

 private:
  static fs::path DirectoryOf(const fs::path& file) { return fs::absolute(file).lexically_normal().parent_path(); }
  static fs::path Canonical(const fs::path& file) {
    std::error_code error;
    const auto path = fs::canonical(file, error);
    return error ? fs::absolute(file) : path;
  }

  YamlNode ReadSource(int source) {
    auto tree = ParseYaml(sources_, source, report_);
    YamlNode result;
    result.kind = Kind::kMap;
    result.place.source = source;
    if (!tree) return result;
    ExpandReferences(*tree, nullptr, sources_, LookUpInEnvironment, report_, kWorkflowReferences);
    if (tree->kind != Kind::kMap) {
      report_.Error(tree->place, "a workflow is a map of fields such as 'name: cosmoflow' and 'steps: {...}'");
      return result;
    }
    const auto include = TakeEntry(*tree, "include");
    if (!include) return std::move(*tree);
    for (const auto* file : FilesOf(include->value)) PutOver(result, ReadIncluded(*file));
    PutOver(result, std::move(*tree));
    return result;
  }

  static void PutOver(YamlNode& base, YamlNode tree) {
    if (!tree.entries.empty()) MergeByKey(base, std::move(tree));
  }

  std::vector<const YamlNode*> FilesOf(const YamlNode& include) {
    if (include.kind == Kind::kScalar) return {&include};
    std::vector<const YamlNode*> files;
    for (const auto& item : include.items) files.push_back(&item);
    const bool is_list = include.kind == Kind::kList &&
                         std::ranges::all_of(files, [](const auto* item) { return item->kind == Kind::kScalar; });
    if (is_list) return files;
    report_.Error(include.place, "'include' is the path of a file, or a list of paths");
    return {};
  }

  YamlNode ReadIncluded(const YamlNode& word) {
    const auto file = (sources_[word.place.source].directory / WithHome(word.text)).lexically_normal();
    const auto canonical = Canonical(file);
    if (std::ranges::find(open_, canonical) != open_.end() || open_.size() >= kDeepestInclude) {
      report_.Error(word.place, Quoted(word.text) + " includes itself, or files include each other too deeply");
      return {};
    }
    std::string text;
    try {
      text = ReadYamlFile(file, "file to include");
    } catch (const Error& error) {
      report_.Error(word.place, error.message());
      return {};
    }
    const int source = sources_.Add(ShownName(file), std::move(text), file.parent_path());
    included_.push_back(file);
    open_.push_back(canonical);
    auto tree = ReadSource(source);
    open_.pop_back();
    return tree;
  }

  /// As short as the name of the first file.
  static std::string ShownName(const fs::path& file) {
    const auto relative = file.lexically_relative(fs::current_path()).string();
    return relative.empty() || relative.starts_with("..") ? file.string() : relative;
  }

  Sources& sources_;
  Report& report_;
  std::vector<fs::path> open_;
  std::vector<fs::path> included_;
};

bool HasKeyOfWorkflow(const YamlNode& tree) { return tree.Find("steps") != nullptr || tree.Find("include") != nullptr; }

}  // namespace

void MergeByKey(YamlNode& base, YamlNode overlay) {
  if (base.kind != Kind::kMap || overlay.kind != Kind::kMap || overlay.entries.empty()) {
    base = std::move(overlay);
    return;
  }
  base.place = overlay.place;
  for (auto& entry : overlay.entries) {
    auto* below = base.Find(entry.key);
    if (below == nullptr) {
      base.entries.push_back(std::move(entry));
    } else {
      below->key_place = entry.key_place;
      MergeByKey(below->value, std::move(entry.value));
    }
  }
}

WorkflowFiles ReadWorkflowFiles(const fs::path& file, Sources& sources, Report& report) {
  return Includer(sources, report).Read(file);
}

bool IsWorkflowFile(const fs::path& file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error) || fs::file_size(file, error) > kLargestSpec) return false;
  const auto text = ReadYamlFile(file, "spec");
  for (const auto& line : LinesOf(text)) {
    if (line.starts_with("steps:") || line.starts_with("include:")) return true;
    if (!line.starts_with('{')) continue;
    Sources sources;
    Report report(sources);
    const auto tree = ParseYaml(sources, sources.Add(file.string(), text, {}), report);
    return tree && HasKeyOfWorkflow(*tree);
  }
  return false;
}

}  // namespace slipway::launcher
