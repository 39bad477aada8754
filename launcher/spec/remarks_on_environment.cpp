#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "core/files.h"
#include "core/nearest_word.h"
#include "core/share_out.h"
#include "core/text.h"
#include "launcher/spec/load.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

template <std::size_t kCount>
bool IsOneOf(const std::array<std::string_view, kCount>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

/// A program's own output has none of these endings.
constexpr std::array<std::string_view, 8> kScriptEndings{".py", ".sh", ".bash", ".R", ".jl", ".pl", ".rb", ".lua"};
/// Files of these endings are read or written, so only a similar name speaks for a mistake.
constexpr std::array<std::string_view, 7> kSettingsEndings{".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".json"};
constexpr std::array<std::string_view, 8> kInterpreters{"sh",   "bash",    "dash",  "perl",
                                                        "ruby", "Rscript", "julia", "lua"};

bool IsInterpreter(const std::string& program) {
  const auto name = fs::path(program).filename().string();
  return name.starts_with("python") || IsOneOf(kInterpreters, name);
}

/// A name, as it is: no option, no absolute path, no placeholder, nothing for a shell.
bool IsPlainName(std::string_view word) {
  static constexpr std::string_view kOthers = "._-+/@%,";
  return !word.empty() && word.front() != '-' && word.front() != '/' && word != "." && word != ".." &&
         std::ranges::all_of(word,
                             [](unsigned char c) { return std::isalnum(c) != 0 || kOthers.find(c) != kOthers.npos; });
}

/// Names of files beside the spec in the words of a command.
class NamedFiles {
 public:
  explicit NamedFiles(const SpecDocument& document) : document_(document), launch_(document.spec.launch) {}

  std::vector<Diagnostic> Missing() {
    const auto& words = document_.spec.train.command;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const auto equals = words[i].find('=');
      const bool is_script = i == 1 && IsInterpreter(words.front());
      LookAt(i, equals == std::string::npos ? words[i] : words[i].substr(equals + 1), is_script);
    }
    return std::move(found_);
  }

 private:
  void LookAt(std::size_t index, const std::string& name, bool is_script) {
    if (!IsPlainName(name) || IsThere(name)) return;
    const auto ending = fs::path(name).extension().string();
    const auto similar = SimilarTo(name);
    const bool is_meant =
        is_script || IsOneOf(kScriptEndings, ending) || (IsOneOf(kSettingsEndings, ending) && !similar.empty());
    if (!is_meant) return;
    const auto field = fmt::format("train.command[{}]", index);
    auto diagnostic = PlaceOfField(document_, field);
    diagnostic.field = field;
    diagnostic.message = fmt::format("'{}' is not beside the spec ({}); the program gets the name unchanged", name,
                                     document_.directory.string());
    diagnostic.suggestion = similar;
    found_.push_back(std::move(diagnostic));
  }

  bool IsThere(const std::string& name) const {
    if (Exists(document_.directory / name)) return true;
    if (launch_.workdir.kind == WorkdirKind::kPath && MayLieIn(launch_.workdir.path, name)) return true;
    const auto first = *fs::path(name).begin();
    return std::ranges::any_of(launch_.files,
                               [&](const auto& pattern) { return fs::path(pattern).filename() == first; });
  }

  /// A folder that is not here may be on the nodes.
  static bool MayLieIn(const fs::path& workdir, const std::string& name) {
    return !IsDirectory(workdir) || Exists(workdir / name);
  }

  /// The file of the same ending whose name is nearest; empty: none.
  std::string SimilarTo(const std::string& name) const {
    const fs::path path(name);
    std::vector<std::string> names;
    std::error_code code;
    for (const auto& entry : fs::directory_iterator(document_.directory / path.parent_path(), code)) {
      if (entry.path().extension() == path.extension() && entry.is_regular_file(code)) {
        names.push_back(entry.path().stem().string());
      }
    }
    std::ranges::sort(names);
    const auto nearest = NearestWord(path.stem().string(), names);
    return nearest.empty() ? "" : (path.parent_path() / (nearest + path.extension().string())).string();
  }

  const SpecDocument& document_;
  const LaunchSpec& launch_;
  std::vector<Diagnostic> found_;
};

/// Some ranks for each core are useful on a small machine; more are a slip, or the settings of another machine.
constexpr std::size_t kRanksForEachCore = 4;

void RemarkOnRanks(const SpecDocument& document, std::vector<Diagnostic>& remarks) {
  const auto& launch = document.spec.launch;
  const auto cores = UsableProcessors();
  const auto ranks = static_cast<std::size_t>(launch.ranks());
  if (launch.engine != EngineChoice::kLocal || ranks <= kRanksForEachCore * cores) return;
  const std::string field = "launch.ranks_per_node";
  auto diagnostic = PlaceOfField(document, field);
  diagnostic.field = field;
  diagnostic.message =
      fmt::format("{} ranks on {}: they take turns, and may run out of memory", ranks, Counted(cores, "core"));
  remarks.push_back(std::move(diagnostic));
}

}  // namespace

Diagnostic PlaceOfField(const SpecDocument& document, std::string path) {
  Diagnostic whole;
  whole.file = document.file.string();
  while (true) {
    const auto place = document.places.find(path);
    if (place != document.places.end()) return place->second;
    const std::size_t end = path.find_last_of(".[");
    if (end == std::string::npos) return whole;
    path.resize(end);
  }
}

std::vector<Diagnostic> RemarksOnEnvironment(const SpecDocument& document) {
  std::vector<Diagnostic> remarks;
  // The files of an image are not here.
  if (!document.spec.launch.container) remarks = NamedFiles(document).Missing();
  RemarkOnRanks(document, remarks);
  return remarks;
}

}  // namespace slipway::launcher
