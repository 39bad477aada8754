#include "launcher/spec/changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/units.h"
#include "launcher/spec/fields.h"
#include "launcher/spec/secrets.h"

namespace slipway::launcher {
namespace {

/// kBeforeResults: in single runs, and in ensembles while no trial has a result.
enum class May { kAlways, kBeforeResults, kNever };
/// How a new run profits from the one that cannot change.
enum class NextRun {
  kAlone,    ///< not at all
  kImports,  ///< the results stay right: its samplers learn from them
  kRepeats   ///< the results are of something else: only the best configurations are worth a trial
};

struct Rule {
  std::string_view path;  ///< and all below it; `*` stands for any name
  May may = May::kAlways;
  std::string_view reason = {};
  NextRun next = NextRun::kAlone;
};

constexpr std::string_view kOtherTrials = "the finished trials ran with the other value";

/// The longest path that fits counts. Every field of the table has a rule (there is a test).
constexpr std::array kRules = {
    Rule{"name", May::kNever, "it is the name of the run's folder"},
    Rule{"description", May::kNever, "slipway tag RUN --description TEXT changes that of the run"},
    Rule{"tags", May::kNever, "slipway tag RUN +TAG -TAG changes those of the run"},
    Rule{"notify"},
    Rule{"provenance", May::kNever, "it is recorded when a run begins"},
    Rule{"tiers", May::kNever, "short names are replaced when a run begins (give the tier where it is used)"},
    Rule{"site"},
    Rule{"site.tier_order", May::kNever, "it is asked when a run begins (give data.NAME.tier)"},
    Rule{"data", May::kNever, "what was learned so far was learned from the other data", NextRun::kRepeats},
    Rule{"data.*.tier"},
    Rule{"data.*.keep"},
    Rule{"data.*.verify"},
    Rule{"data.*.bandwidth"},
    Rule{"data.*.overlap"},
    Rule{"data.*.on_corrupt", May::kBeforeResults, kOtherTrials, NextRun::kRepeats},
    Rule{"launch", May::kBeforeResults, kOtherTrials, NextRun::kRepeats},
    Rule{"launch.engine", May::kNever, "a run stays with the engine that it began on"},
    Rule{"launch.mpi"},
    Rule{"launch.cpus_per_rank"},
    Rule{"launch.bind"},
    Rule{"launch.memory_per_rank"},
    Rule{"launch.time_limit"},
    Rule{"launch.files"},
    Rule{"launch.slurm"},
    Rule{"train", May::kNever, "what was learned so far was learned by the other program", NextRun::kRepeats},
    Rule{"train.args", May::kBeforeResults, kOtherTrials, NextRun::kRepeats},
    Rule{"train.flags", May::kBeforeResults, kOtherTrials, NextRun::kRepeats},
    Rule{"train.metrics", May::kBeforeResults, kOtherTrials, NextRun::kRepeats},
    Rule{"train.metrics.tensorboard"},
    Rule{"train.validation", May::kNever, "the other records were set aside so far", NextRun::kRepeats},
    Rule{"gradients", May::kBeforeResults, kOtherTrials, NextRun::kRepeats},
    Rule{"checkpoint"},
    Rule{"resilience"},
    Rule{"trace"},
    Rule{"mllog"},
    Rule{"report"},
    Rule{"ensemble", May::kNever, "a run is an ensemble from its beginning or never"},
    Rule{"ensemble.objective", May::kNever, "the trials were ranked and steered by the other one", NextRun::kRepeats},
    Rule{"ensemble.objectives", May::kNever, "the trials were ranked and steered by the others", NextRun::kRepeats},
    Rule{"ensemble.placement", May::kNever, "its trials may be in the queue"},
    Rule{"ensemble.trials"},
    Rule{"ensemble.parallel"},
    Rule{"ensemble.max_failures"},
    Rule{"ensemble.stop_on_same_failure"},
    Rule{"ensemble.time_limit"},
    Rule{"ensemble.budget"},
    Rule{"ensemble.select"},
    Rule{"ensemble.space", May::kNever, "the trials were drawn from the other space", NextRun::kImports},
    Rule{"ensemble.constraints", May::kNever, "the trials were drawn from the other space", NextRun::kImports},
    Rule{"ensemble.points", May::kNever, "the first trials have begun (slipway trials enqueue adds one)"},
    Rule{"ensemble.sampler", May::kNever, "the other one chose the trials so far", NextRun::kImports},
    Rule{"ensemble.seed", May::kNever, "the trials so far were drawn with the other one", NextRun::kImports},
    Rule{"ensemble.scheduler", May::kNever, "the trials so far were judged by the other rule", NextRun::kImports},
    Rule{"ensemble.repeats", May::kNever, "the numbers of the trials count them", NextRun::kImports},
};

/// How many characters of `key` the path stands for; 0 when it does not fit.
std::size_t LengthOfFit(std::string_view path, std::string_view key) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '*') {
      at = std::min(key.find('.', at), key.size());
    } else if (at < key.size() && key[at] == path[i]) {
      ++at;
    } else {
      return 0;
    }
  }
  return at == key.size() || key[at] == '.' || key[at] == '[' ? at : 0;
}

const Rule& RuleFor(std::string_view key) {
  const auto best = std::ranges::max_element(kRules, {}, [&](const Rule& rule) { return LengthOfFit(rule.path, key); });
  if (LengthOfFit(best->path, key) > 0) return *best;
  throw Error(ErrorKind::kInternal, fmt::format("nothing says whether '{}' may change", key));
}

std::string_view StepOf(NextRun next) {
  switch (next) {
    case NextRun::kImports:
      return "start a new run with it and take these trials over (slipway trials export --format optuna, then slipway "
             "trials import)";
    case NextRun::kRepeats:
      return "start a new run with it and line the best configurations up there (slipway trials enqueue)";
    case NextRun::kAlone: break;
  }
  return "start a new run with it";
}

/// The fields of a section and the members of a map change one by one.
bool HasMembers(const FieldNode* node) {
  return node != nullptr && (node->field == nullptr || node->field->type.kind == TypeKind::kSection ||
                             node->field->type.kind == TypeKind::kMap);
}

/// JSON text; a webhook may be a secret.
std::string ShownJson(const std::string& path, const Json& value) {
  return (path == kNotify ? WithoutSecretsIn(value) : value).dump();
}

/// `node` is null within the members of a map.
void Compare(const FieldNode* node, const std::string& path, const Json& before, const Json& after,
             std::vector<FieldChange>& changes) {
  if (before == after) return;
  if (!HasMembers(node) || !before.is_object() || !after.is_object()) {
    return changes.push_back({path, ShownJson(path, before), ShownJson(path, after)});
  }
  static const Json kNothing;
  const auto member = [](const Json& of, const std::string& key) { return of.contains(key) ? &of[key] : &kNothing; };
  const auto compare = [&](const std::string& key) {
    Compare(node->Child(key), path.empty() ? key : path + "." + key, *member(before, key), *member(after, key),
            changes);
  };
  for (const auto& [key, value] : before.items()) compare(key);
  for (const auto& [key, value] : after.items()) {
    if (!before.contains(key)) compare(key);
  }
}

/// Null where the key is one of a user's own names.
const Field* FieldAt(std::string_view key) {
  const FieldNode* node = &FieldTree();
  while (node != nullptr && !key.empty()) {
    const std::size_t dot = std::min(key.find('.'), key.size());
    node = node->Child(key.substr(0, dot));
    key.remove_prefix(std::min(dot + 1, key.size()));
  }
  return node == nullptr ? nullptr : node->field;
}

/// As people write it.
std::string ValueText(const Field* field, const std::string& json) {
  const auto value = Json::parse(json, nullptr, false);
  if (value.is_null()) return "none";
  if (value.is_string()) return value.get<std::string>();
  if (field == nullptr || !value.is_number()) return json;
  if (field->type.kind == TypeKind::kDuration) return FormatDuration(Seconds(value.get<double>()));
  if (field->type.kind == TypeKind::kBytes) return FormatBytes(Bytes{value.get<std::uint64_t>()});
  return json;
}

}  // namespace

std::vector<FieldChange> ChangesBetween(const Json& before, const Json& after) {
  std::vector<FieldChange> changes;
  Compare(&FieldTree(), "", before, after, changes);
  return changes;
}

std::string Describe(const FieldChange& change) {
  const auto* field = FieldAt(change.key);
  return fmt::format("{} {} -> {}", change.key, ValueText(field, change.before), ValueText(field, change.after));
}

const Json* ValueAt(const Json& values, std::string_view path) {
  const Json* value = &values;
  while (!path.empty()) {
    const auto dot = std::min(path.find('.'), path.size());
    const std::string key(path.substr(0, dot));
    if (!value->is_object() || !value->contains(key)) return nullptr;
    value = &(*value)[key];
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return value;
}

std::optional<std::string> OverrideFor(const FieldChange& change) {
  const auto value = Json::parse(change.after, nullptr, false);
  if (value.is_null() || value.is_discarded()) return {};
  const auto* field = FieldAt(change.key);
  const bool is_duration = field != nullptr && field->type.kind == TypeKind::kDuration;
  if (is_duration) return fmt::format("{}={}s", change.key, change.after);
  if (!value.is_object() || !value.contains("fraction")) return change.key + "=" + change.after;
  return fmt::format("{}={}%", change.key, 100 * value["fraction"].get<double>());
}

std::optional<std::string> WhyFixed(std::string_view key, RunKind kind) {
  const Rule& rule = RuleFor(key);
  if (rule.may == May::kAlways || (rule.may == May::kBeforeResults && kind != RunKind::kEnsemble)) return std::nullopt;
  const bool single = kind == RunKind::kSingle;
  return fmt::format("'{}' cannot change in a run that has begun: {}; {}", key, rule.reason,
                     StepOf(single ? NextRun::kAlone : rule.next));
}

}  // namespace slipway::launcher
