#include "launcher/cli/commands/reproduce.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/documents.h"
#include "core/error.h"
#include "core/files.h"
#include "core/shell.h"
#include "launcher/cli/commands/find_run.h"
#include "launcher/plan/plan.h"
#include "launcher/plan/workdir.h"
#include "launcher/provenance/collect.h"
#include "launcher/provenance/differences.h"
#include "launcher/run_folder/prepare.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

/// One thing that is not as it was.
struct MachineChange {
  std::string what;
  std::optional<std::string> then;
  std::optional<std::string> now;
};

struct Reproduction {
  fs::path spec;
  std::vector<std::string> variables;  ///< words of env(1)
  std::vector<std::string> overrides;
  std::vector<std::string> steps;  ///< commands that restore the code; empty: it is here
  std::vector<MachineChange> changes;
  std::vector<std::string> remarks;
};

/// Of the run; with a remark when it is missing.
std::optional<Provenance> StoredProvenance(const RunFolder& folder, Reproduction& result) try {
  const auto text = ReadDocumentIfPresent(folder.provenance_file());
  if (text) return ProvenanceFromJson(Json::parse(*text));
  result.remarks.emplace_back("the run has recorded no provenance: code and versions are unknown");
  return {};
} catch (const std::exception& error) {
  result.remarks.push_back(fmt::format("provenance.json cannot be read: {}", error.what()));
  return {};
}

/// An equal file may be there already.
void WriteNew(const fs::path& path, const std::string& text, mode_t mode) {
  const auto before = ReadFileIfPresent(path);
  if (before == text) return;
  if (before) {
    throw Error(ErrorKind::kUsage, fmt::format("'{}' exists, with other content", path.string()),
                "name another file: --out FILE");
  }
  WriteFileAtomically(path, text, mode);
}

fs::path SpecFileFor(const ReproduceOptions& options, const RunFolder& folder, const SpecDocument& stored) {
  if (!options.out.empty()) return fs::absolute(options.out).lexically_normal();
  const auto name = folder.id() + ".yaml";
  const bool has_place = ::access(stored.directory.c_str(), W_OK) == 0 && IsDirectory(stored.directory);
  return has_place ? stored.directory / name : fs::current_path() / name;
}

/// Values of variables may be secret: they are named only.
bool IsVariable(const std::string& key) { return key.starts_with("launch.env"); }

void PinSpec(const SpecDocument& stored, const SpecDocument& now, Reproduction& result) {
  for (const auto& change : ChangesBetween(*now.resolved, *stored.resolved)) {
    const auto override = IsVariable(change.key) ? std::nullopt : OverrideFor(change);
    if (override) {
      result.overrides.push_back(*override);
    } else if (IsVariable(change.key)) {
      result.changes.push_back({change.key, "another value", {}});
    } else {
      result.changes.push_back({change.key, change.after, change.before});
    }
  }
}

/// `auto` may mean another engine or other algorithms here.
void PinChoices(const Json& plan, const SpecDocument& now, Reproduction& result) {
  const auto engine = plan.value("engine", "");
  if (!engine.empty() && engine != WordOf(now.spec.launch.engine))
    result.overrides.push_back("launch.engine=" + engine);
  const auto exchange = plan.value("exchange", Json::object());
  const auto algorithms = exchange.value("algorithms", "");
  if (now.spec.launch.ranks() == 1 || algorithms.empty()) return;
  if (PlanExchange(now.spec).table.ToText() != algorithms) {
    result.overrides.push_back("gradients.algorithms=" + Json(algorithms).dump());
  }
}

bool IsSetAgain(std::string_view variable) { return SetsThreads(variable) || variable.starts_with("SLIPWAY_"); }

void CompareMachines(const Provenance& then, const Provenance& now, Reproduction& result) {
  const std::array both = {then, now};
  for (auto& row : DifferencesBetween(both)) {
    const auto name = VariableIn(row.fact);
    if (name.empty() || !IsSetAgain(name)) {
      result.changes.push_back({row.fact, row.values[0], row.values[1]});
    } else if (row.values[0]) {
      result.variables.push_back(name + "=" + *row.values[0]);
    } else {
      result.variables.insert(result.variables.begin(), {"-u", name});
    }
  }
}

/// The commands that bring the code back beside the present one.
void PlanCheckout(const RunFolder& folder, const Provenance& then, const SpecDocument& stored, Reproduction& result) {
  const fs::path repository = then.code.repository;
  const auto tree = repository.parent_path().parent_path() / folder.id();  // a working tree ends with '/'
  const auto git = [](const fs::path& at, std::vector<std::string> words) {
    words.insert(words.begin(), {"git", "-C", at.string()});
    return QuoteForShell(words);
  };
  result.steps.push_back(git(repository, {"worktree", "add", "--detach", tree.string(), *then.code.commit}));
  if (!then.code.diff.empty()) {
    const auto patch = fs::path(result.spec).replace_extension(".patch");
    WriteNew(patch, then.code.diff, kPlanMode);
    result.steps.push_back(git(tree, {"apply", patch.string()}));
  }
  const auto inside = stored.directory.lexically_relative(repository);
  const bool lies_inside = !inside.empty() && *inside.begin() != "..";
  const auto place = lies_inside ? tree / inside : tree;
  const auto spec = (place / result.spec.filename()).lexically_normal().string();
  result.steps.push_back(QuoteForShell({"slipway", "reproduce", folder.path().string(), "--out", spec}));
}

void CompareCode(const RunFolder& folder, const Provenance& then, const Provenance& now, const SpecDocument& stored,
                 Reproduction& result) {
  const auto& code = then.code;
  for (const auto& file : code.diff_left_out) {
    result.remarks.push_back(fmt::format("the change of '{}' was not recorded: {}", file.path, file.reason));
  }
  if (!code.untracked.empty()) {
    result.remarks.push_back(fmt::format("{} untracked files were beside the program; only their names are recorded",
                                         code.untracked.size() + code.untracked_more));
  }
  if (!code.not_recorded.empty()) result.remarks.push_back("code: " + code.not_recorded);
  if (code.commit && !HaveSameCode(then, now)) PlanCheckout(folder, then, stored, result);
}

/// What this machine has and lacks; a plan that cannot be made is one remark.
void LookHere(const RunFolder& folder, const Json& plan, const SpecDocument& stored, Reproduction& result) try {
  auto then = StoredProvenance(folder, result);
  const auto here = MakePlan(LoadSpec(result.spec, result.overrides), folder.path().parent_path());
  for (auto& change : ChangesOfBits(plan.value("exchange", Json()), here.exchange)) {
    result.remarks.push_back("other bits than then: " + change);
  }
  if (!then) return;
  ForgetUnused(here, *then);
  const auto now = CollectProvenance(here);
  CompareMachines(*then, now, result);
  CompareCode(folder, *then, now, stored, result);
} catch (const Error& error) {
  result.remarks.push_back("this machine cannot run it as it is: " + error.message());
}

/// Fields that name files are pinned as absolute paths; words of the command stay as they are.
void NameMissingFiles(const SpecDocument& stored, Reproduction& result) try {
  Plan then;
  then.document = stored;
  const auto place = result.spec.parent_path();
  std::vector<std::string> missing;
  for (const auto& file : FilesOfCommand(then, Json::object())) {
    if (!Exists(place / file)) missing.push_back(file);
  }
  if (missing.empty()) return;
  result.remarks.push_back(fmt::format(
      "the command names {}: not in '{}'; copy what the program needs from '{}', or write the spec there: --out {}",
      fmt::join(missing, ", "), place.string(), stored.directory.string(),
      QuoteForShell({(stored.directory / result.spec.filename()).string()})));
} catch (const Error& error) {
  result.remarks.push_back("which files the command names is not known: " + error.message());
}

std::vector<std::string> CommandOf(const Reproduction& result) {
  std::vector<std::string> words;
  if (!result.variables.empty()) {
    words.emplace_back("env");
    words.insert(words.end(), result.variables.begin(), result.variables.end());
  }
  words.insert(words.end(), {"slipway", "run", result.spec.string()});
  for (const auto& override : result.overrides) words.insert(words.end(), {"--set", override});
  return words;
}

Json DocumentOf(const RunFolder& folder, const Reproduction& result) {
  Json document{{"schema", "slipway.reproduce/1"}, {"run", folder.id()},           {"spec", result.spec.string()},
                {"command", CommandOf(result)},    {"restore_code", result.steps}, {"differences", Json::array()},
                {"remarks", result.remarks}};
  for (const auto& [what, then, now] : result.changes) {
    document["differences"].push_back(
        {{"what", what}, {"then", then ? Json(*then) : Json()}, {"now", now ? Json(*now) : Json()}});
  }
  return document;
}

std::string TextOf(const Reproduction& result) {
  auto text = fmt::format("written: {}\n", result.spec.string());
  if (!result.steps.empty()) text += "the code here is not that of the run; restore it:\n";
  for (const auto& step : result.steps) text += "  " + step + "\n";
  if (result.steps.empty()) text += "repeat the run:\n  " + QuoteForShell(CommandOf(result)) + "\n";
  if (result.changes.empty()) text += "no difference found on this machine\n";
  if (!result.changes.empty()) text += "different here:\n";
  for (const auto& [what, then, now] : result.changes) {
    text += fmt::format("  {}: {} -> {}\n", what, then.value_or("none"), now.value_or("none"));
  }
  for (const auto& remark : result.remarks) text += "note: " + remark + "\n";
  return text;
}

}  // namespace

int Reproduce(const ReproduceOptions& options, Session& session) {
  const auto folder = FindExperiment(session, options.run);
  const auto stored = StoredSpec(folder);
  const auto plan = Json::parse(ReadDocument(folder.plan_file()));
  Reproduction result;
  result.spec = SpecFileFor(options, folder, stored);
  WriteNew(result.spec, stored.source, kFileMode);
  const auto now = LoadSpec(result.spec);
  PinSpec(stored, now, result);
  PinChoices(plan, now, result);
  LookHere(folder, plan, stored, result);
  if (result.steps.empty()) NameMissingFiles(stored, result);
  session.output.Print({DocumentOf(folder, result), TextOf(result), QuoteForShell(CommandOf(result))});
  return 0;
}

}  // namespace slipway::launcher
