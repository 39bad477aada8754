#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>

#include "core/nearest_word.h"
#include "launcher/ranks/monitor/pattern.h"
#include "launcher/spec/checks.h"
#include "launcher/spec/command_line.h"

namespace slipway::launcher {
namespace {

bool IsIdentifier(std::string_view name, std::string_view more) {
  if (name.empty() || (std::isalpha(static_cast<unsigned char>(name[0])) == 0 && name[0] != '_')) return false;
  return std::all_of(name.begin(), name.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || more.find(c) != std::string_view::npos;
  });
}

std::vector<std::string> KeysOf(const Json& object) {
  std::vector<std::string> keys;
  if (!object.is_object()) return keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

bool HasKey(const Json& object, const std::string& key) { return object.is_object() && object.contains(key); }

/// Name of a bundled trainer: it must not lead out of their directory.
bool IsProgramName(const std::string& name) { return IsIdentifier(name, "-"); }

void CheckProgram(Report& report, const Draft& draft) {
  const bool wrong =
      draft.failed.count("train") + draft.failed.count("train.program") + draft.failed.count("train.command") > 0;
  if (wrong) return;
  const bool program = draft.Has("train.program");
  const bool command = draft.Has("train.command");
  if (program && command) {
    report.Error(draft.PlaceOf("train.command"), "'train' has both a program and a command; keep one of them");
  }
  if (!program && !command) {
    report.Error(draft.PlaceOf("train"), "'train' needs a program (a bundled trainer) or a command (any program)");
  }
  if (program && !IsProgramName(draft.At("train.program").get<std::string>())) {
    report.Error(draft.PlaceOf("train.program"),
                 "'program' is the name of a bundled trainer; for a program of your own write command: [...]");
  }
  const Json& words = draft.At("train.command");
  if (command && (words.empty() || words[0].get<std::string>().empty())) {
    report.Error(draft.PlaceOf("train.command"), "an empty command");
  }
}

void CheckArgumentNames(Report& report, const Draft& draft) {
  for (const std::string& name : KeysOf(draft.At("train.args"))) {
    if (IsIdentifier(name, "-.")) continue;
    report.Error(draft.PlaceOf("train.args"), "an argument has a name such as lr or batch_size, not " + Quoted(name));
  }
}

void CheckPlaceholders(Report& report, const Draft& draft) {
  const Json& words = draft.At("train.command");
  if (words.is_null() || draft.failed.count("train.args") + draft.failed.count("ensemble.space") > 0) return;
  std::vector<std::string> names = KeysOf(draft.At("train.args"));
  for (const std::string& name : KeysOf(draft.At("ensemble.space"))) names.push_back(name);
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (const std::string& name : Placeholders(words[i].get<std::string>())) {
      if (IsOwnName(name) || std::find(names.begin(), names.end(), name) != names.end()) continue;
      report.Error(draft.PlaceOf(fmt::format("train.command[{}]", i)),
                   fmt::format("nothing gives a value for {{{0}}}: neither 'train.args' nor 'ensemble.space'; write "
                               "{{{{{0}}}}} for that very text",
                               name),
                   NearestWord(name, names));
    }
  }
}

bool IsFlag(const Draft& draft, const std::string& name) {
  const Json& flags = draft.At("train.flags");
  return std::ranges::find(flags, Json(name)) != flags.end();
}

/// A part of a word can be neither several words nor none.
void CheckPartsOfWords(Report& report, const Draft& draft) {
  const Json& words = draft.At("train.command");
  const Json& args = draft.At("train.args");
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto word = words[i].get<std::string>();
    if (!OnlyPlaceholder(word).empty()) continue;
    for (const std::string& name : Placeholders(word)) {
      const bool is_list = HasKey(args, name) && args[name].is_array();
      if (!is_list && !IsFlag(draft, name)) continue;
      report.Error(draft.PlaceOf(fmt::format("train.command[{}]", i)),
                   fmt::format("{{{0}}} is a {1}, and stands for words of its own; write \"{{{0}}}\" alone", name,
                               is_list ? "list" : "flag"));
    }
  }
}

/// Whether all values that a parameter may have are true or false.
bool HasOnlyTruthValues(const Json& parameter) {
  if (parameter.is_boolean()) return true;
  if (HasKey(parameter, "fixed")) return parameter["fixed"].is_boolean();
  if (!HasKey(parameter, "choice") || !parameter["choice"].is_array()) return false;
  return std::ranges::all_of(parameter["choice"], [](const Json& value) { return value.is_boolean(); });
}

void CheckFlag(Report& report, const Draft& draft, const std::string& name, const Place& place) {
  const Json& args = draft.At("train.args");
  const Json& space = draft.At("ensemble.space");
  std::vector<std::string> names = KeysOf(args);
  for (const std::string& parameter : KeysOf(space)) names.push_back(parameter);
  if (std::ranges::find(names, name) == names.end()) {
    report.Error(
        place,
        fmt::format("nothing says whether the flag {} is set; write train.args: {{{}: true}}", Quoted(name), name),
        NearestWord(name, names));
  }
  if (HasKey(args, name) && !args[name].is_boolean()) {
    report.Error(draft.PlaceOf("train.args." + name),
                 fmt::format("{} is one of 'train.flags', so its value is true or false", Quoted(name)));
  }
  if (HasKey(space, name) && !HasOnlyTruthValues(space[name])) {
    report.Error(draft.PlaceOf("ensemble.space." + name),
                 fmt::format("{} is one of 'train.flags', so its values are true and false; write {{choice: [true, "
                             "false]}}",
                             Quoted(name)));
  }
}

void CheckLists(Report& report, const Draft& draft) {
  if (!draft.Has("train.program")) return;
  const Json& args = draft.At("train.args");
  for (const std::string& name : KeysOf(args)) {
    if (!args[name].is_array()) continue;
    report.Error(draft.PlaceOf("train.args." + name), "a list is for a 'command'; a bundled trainer takes one value");
  }
}

void CheckFlags(Report& report, const Draft& draft) {
  const Json& flags = draft.At("train.flags");
  if (draft.failed.count("train.args") + draft.failed.count("ensemble.space") > 0) return;
  if (draft.Has("train.program") && !flags.empty()) {
    report.Error(draft.PlaceOf("train.flags"), "flags are for a 'command'; a bundled trainer takes true and false");
    return;
  }
  for (std::size_t i = 0; i < flags.size(); ++i) {
    CheckFlag(report, draft, flags[i].get<std::string>(), draft.PlaceOf(fmt::format("train.flags[{}]", i)));
  }
}

/// "slipway.data.train" -> "train".
std::map<std::string, std::string> OwnNamesOfDatasets(const Draft& draft) {
  std::map<std::string, std::string> names;
  for (const std::string& dataset : KeysOf(draft.At("data"))) names.emplace(OwnNameOfDataset(dataset), dataset);
  return names;
}

void CheckOwnNameOfDataset(Report& report, const Draft& draft, const std::string& path, const std::string& name,
                           const std::string& dataset) {
  if (path == "launch.workdir") {
    report.Error(draft.PlaceOf(path), fmt::format("{{{}}} cannot name the working directory", name));
  } else if (draft.At("data")[dataset].value("distribute", Json()) == "node-shard") {
    report.Error(draft.PlaceOf(path),
                 fmt::format("{{{}}} would be another folder on each node, as data.{}.distribute is node-shard; "
                             "the program finds it in SLIPWAY_DATA_<NAME>",
                             name, dataset));
  }
}

void CheckOwnNames(Report& report, const Draft& draft, const std::string& path, const Json& value) {
  if (value.is_array()) {
    for (const Json& element : value) CheckOwnNames(report, draft, path, element);
  }
  if (!value.is_string()) return;
  const auto datasets = OwnNamesOfDatasets(draft);
  for (const std::string& name : OwnPlaceholders(value.get<std::string>())) {
    if (const auto dataset = datasets.find(name); dataset != datasets.end()) {
      CheckOwnNameOfDataset(report, draft, path, name, dataset->second);
    } else if (std::ranges::find(OwnNames(), name) == OwnNames().end()) {
      auto known = OwnNames();
      for (const auto& [own, of] : datasets) known.push_back(own);
      report.Error(draft.PlaceOf(path), fmt::format("Slipway has no value {{{}}}", name), NearestWord(name, known));
    } else if (name == kOwnTrial && !draft.Has("ensemble")) {
      report.Error(draft.PlaceOf(path),
                   fmt::format("{{{}}} is the number of a trial; this spec has no ensemble", name));
    } else if (path == "launch.workdir" && name == OwnNames().front()) {
      report.Error(draft.PlaceOf(path), fmt::format("{{{}}} is what this field says", name));
    }
  }
}

/// Wherever they may stand.
void CheckOwnNames(Report& report, const Draft& draft) {
  const Json& words = draft.At("train.command");
  for (std::size_t i = 0; i < words.size(); ++i) {
    CheckOwnNames(report, draft, fmt::format("train.command[{}]", i), words[i]);
  }
  for (const std::string map : {"train.args", "launch.env"}) {
    for (const std::string& key : KeysOf(draft.At(map))) {
      CheckOwnNames(report, draft, map + "." + key, draft.At(map)[key]);
    }
  }
  CheckOwnNames(report, draft, "launch.workdir", draft.At("launch.workdir"));
}

void CheckValidation(Report& report, const Draft& draft) {
  const Json& fraction = draft.At("train.validation.fraction");
  if (fraction.is_number() && fraction.get<double>() == 1) {
    report.Error(draft.PlaceOf("train.validation.fraction"), "a fraction of 1 leaves nothing to train on");
  }
  if (!draft.Has("train.validation.from")) return;
  const auto from = draft.At("train.validation.from").get<std::string>();
  if (HasKey(draft.At("data"), from)) return;
  report.Error(draft.PlaceOf("train.validation.from"), "no dataset is called " + Quoted(from),
               NearestWord(from, KeysOf(draft.At("data"))));
}

/// The place of byte `offset` in a pattern that stands on one line; else the pattern's.
Place PatternPlace(const Sources& sources, const Draft& draft, const std::string& pattern, std::size_t offset) {
  Place place = draft.PlaceOf("train.metrics.pattern");
  const std::string_view line = sources[place.source].Line(place.line);
  const std::size_t start = line.find(pattern, static_cast<std::size_t>(place.column));
  if (start == std::string_view::npos) return place;
  place.column = static_cast<int>(start + std::min(offset, pattern.size() - 1));
  place.length = 1;
  return place;
}

void CheckObjectiveGroup(Report& report, const Draft& draft, const std::vector<std::string>& groups) {
  if (!draft.Has("ensemble.objective.metric")) return;
  const auto metric = draft.At("ensemble.objective.metric").get<std::string>();
  if (std::find(groups.begin(), groups.end(), metric) != groups.end()) return;
  report.Error(draft.PlaceOf("ensemble.objective.metric"),
               "the pattern of 'train.metrics' has no group called " + Quoted(metric), NearestWord(metric, groups));
}

void CheckMetrics(const Sources& sources, Report& report, const Draft& draft) {
  if (draft.failed.count("train.metrics.from") + draft.failed.count("train.metrics.pattern") > 0) return;
  const bool from_output = draft.At("train.metrics.from") == "stdout";
  if (!draft.Has("train.metrics.pattern")) {
    if (from_output) report.Error(draft.PlaceOf("train.metrics.from"), "metrics from stdout need a pattern");
    return;
  }
  if (!from_output) {
    report.Error(draft.PlaceOf("train.metrics.pattern"),
                 "a pattern has no meaning unless the metrics are from: stdout");
    return;
  }
  const auto pattern = draft.At("train.metrics.pattern").get<std::string>();
  const PatternInfo info = InspectPattern(pattern);
  if (!info.error.empty()) {
    report.Error(PatternPlace(sources, draft, pattern, info.offset), "the pattern does not compile: " + info.error);
  } else if (info.names.empty()) {
    report.Error(draft.PlaceOf("train.metrics.pattern"), "the pattern names no group; write (?<name>...) for a metric");
  } else {
    CheckObjectiveGroup(report, draft, info.names);
  }
}

/// Warns that `stall_after` has no effect. A program that prints its metrics usually lacks libslipway, so no watch sees
/// its ranks wait.
void WarnOfNoWatch(Report& report, const Draft& draft) {
  constexpr const char* kStallAfter = "resilience.stall_after";
  if (!draft.places.contains(kStallAfter) || draft.At("train.metrics.from") != "stdout") return;
  report.Warn(
      draft.PlaceOf(kStallAfter),
      "stall_after watches the ranks of programs that use libslipway only; a hang of another program is ended by "
      "launch.time_limit");
}

/// Where an argument or parameter called `name` is given; nothing when it is not.
const char* GiverOf(const Draft& draft, const std::string& name) {
  if (HasKey(draft.At("ensemble.space"), name)) return "ensemble.space.";
  return HasKey(draft.At("train.args"), name) ? "train.args." : nullptr;
}

void CheckDivides(Report& report, const Draft& draft, const Json& batch, const Place& place) {
  const bool is_ensemble = draft.At("ensemble").is_object();
  const Json& nodes = draft.At(is_ensemble ? "ensemble.nodes_per_trial" : "launch.nodes");
  const Json& per_node = draft.At("launch.ranks_per_node");
  if (!batch.is_number_integer() || nodes.is_null() || per_node.is_null()) return;
  const auto ranks = nodes.get<std::int64_t>() * per_node.get<std::int64_t>();
  const auto size = batch.get<std::int64_t>();
  if (size > 0 && size % ranks == 0) return;
  report.Error(place, fmt::format("a global_batch_size of {} cannot be shared equally by {} ranks", size, ranks));
}

void CheckBatchSizes(Report& report, const Draft& draft) {
  const char* batch = GiverOf(draft, "batch_size");
  const char* global = GiverOf(draft, "global_batch_size");
  if (global == nullptr) return;
  const Place place = draft.PlaceOf(global + std::string("global_batch_size"));
  if (batch != nullptr) report.Error(place, "global_batch_size excludes batch_size, which counts per rank; keep one");
  const Json& args = draft.At("train.args");
  if (HasKey(args, "global_batch_size")) CheckDivides(report, draft, args["global_batch_size"], place);
  const Json& space = draft.At("ensemble.space");
  if (!HasKey(space, "global_batch_size") || !HasKey(space["global_batch_size"], "choice")) return;
  for (const Json& choice : space["global_batch_size"]["choice"]) CheckDivides(report, draft, choice, place);
}

}  // namespace

void CheckTraining(const Sources& sources, Report& report, const Draft& draft) {
  CheckProgram(report, draft);
  CheckArgumentNames(report, draft);
  CheckPlaceholders(report, draft);
  CheckPartsOfWords(report, draft);
  CheckLists(report, draft);
  CheckFlags(report, draft);
  CheckOwnNames(report, draft);
  CheckValidation(report, draft);
  WarnOfNoWatch(report, draft);
  CheckMetrics(sources, report, draft);
  CheckBatchSizes(report, draft);
}

}  // namespace slipway::launcher
