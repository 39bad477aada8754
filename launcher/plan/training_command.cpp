#include "launcher/plan/training_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/install.h"
#include "launcher/plan/data_plan.h"
#include "launcher/plan/python_path.h"

namespace slipway::launcher {
namespace {

/// A number of steps, or a share as the spec writes it: "10%".
Json StepsText(const StepCount& count) {
  if (count.fraction) return fmt::format("{:.10g}%", *count.fraction * 100);
  return count.steps.value_or(0);
}

Json GradientsConfiguration(const GradientsSpec& gradients) {
  Json config{{"mode", WordOf(gradients.mode)},
              {"lag", std::max(1, gradients.lag)},
              {"sync_first", StepsText(gradients.sync_first)},
              {"sync_last", StepsText(gradients.sync_last)},
              {"accumulate", gradients.accumulate},
              {"compress", WordOf(gradients.compress)},
              {"clip_norm", gradients.clip_norm ? Json(*gradients.clip_norm) : Json()},
              {"check_finite", gradients.check_finite},
              {"bucket_bytes", gradients.bucket.count},
              {"deterministic", ToJson(gradients.deterministic)},
              {"network", gradients.network}};
  if (!gradients.algorithms.empty()) config["algorithms"] = gradients.algorithms;
  if (gradients.gpu_exchange != GpuExchange::kAuto) config["gpu_exchange"] = WordOf(gradients.gpu_exchange);
  return config;
}

/// How the reader of each dataset treats its records.
Json DataConfiguration(const std::vector<DatasetSpec>& datasets) {
  Json config = Json::object();
  for (const auto& dataset : datasets) {
    config[dataset.name] = {{"remainder", WordOf(dataset.remainder)},
                            {"on_corrupt", WordOf(dataset.on_corrupt)},
                            {"overlap", dataset.overlap},
                            {"seed", dataset.seed},
                            {"distribute", WordOf(dataset.distribute)}};
  }
  return config;
}

/// What `slipway_init(NULL)` and bundled trainers read.
Json RuntimeConfiguration(const Spec& spec, const std::string& spec_hash) {
  Json config{{"spec_hash", spec_hash},
              {"gradients", GradientsConfiguration(spec.gradients)},
              {"resilience", {{"stall_after_s", spec.resilience.stall_after.count()}}},
              {"trace", {{"every", spec.trace.every}, {"chrome", spec.trace.chrome}, {"sums", spec.trace.sums}}},
              {"checkpoint", {{"keep", spec.checkpoint.keep}}}};
  if (!spec.data.empty()) config["data"] = DataConfiguration(spec.data);
  if (spec.checkpoint.every) config["checkpoint"]["every_s"] = spec.checkpoint.every->count();
  if (const auto& best = spec.checkpoint.keep_best) {
    config["checkpoint"]["keep_best"] = {{"metric", best->metric}, {"goal", WordOf(best->goal)}};
  }
  if (const auto& validation = spec.train.validation) {
    config["validation"] = {{"from", validation->from}, {"fraction", validation->fraction}, {"seed", validation->seed}};
  }
  return config;
}

/// Which trial it is, which of its repeats, and how far its scheduler lets it go for now.
void AddTrialVariables(Variables& variables, const Spec& spec, const TrialTerms& terms) {
  variables.emplace_back("SLIPWAY_REPEAT", std::to_string(terms.repeat));
  if (!spec.ensemble) return;
  variables.emplace_back("SLIPWAY_TRIAL", std::to_string(terms.trial));
  if (!spec.ensemble->scheduler) return;
  variables.emplace_back("SLIPWAY_RESOURCE", spec.ensemble->scheduler->resource);
  variables.emplace_back("SLIPWAY_RESOURCE_LIMIT", terms.limit ? fmt::format("{:.10g}", *terms.limit) : "");
}

/// Own names have their values.
Json ParametersAt(const TrainSpec& train, const Json& parameters, const OwnValues& own) {
  auto effective = EffectiveParameters(train, parameters);
  const auto replace = [&](Json& value) {
    if (value.is_string()) value = ReplaceOwnNames(value.get<std::string>(), own);
  };
  for (auto& value : effective) {
    if (value.is_array()) std::ranges::for_each(value, replace);
    replace(value);
  }
  return effective;
}

/// A variable of `launch.env`. Its PYTHONPATH replaces the inherited one; the package of libslipway still follows.
std::string ValueForRanks(const std::string& name, std::string value, const CommandPlace& at) {
  if (name != kPythonPath) return value;
  const auto spec_directory = at.own.find("slipway.spec_dir");
  if (spec_directory != at.own.end()) value = WithAbsoluteEntries(value, spec_directory->second);
  return PythonPath(value, at.python_modules);
}

/// Where the program works, and where its spec lies; nothing where that is not known.
void AddPlaceVariables(Variables& variables, const OwnValues& own) {
  const auto add = [&](const char* variable, const char* name) {
    if (const auto found = own.find(name); found != own.end()) variables.emplace_back(variable, found->second);
  };
  add("SLIPWAY_WORKDIR", "slipway.workdir");
  add("SLIPWAY_SPEC_DIR", "slipway.spec_dir");
}

}  // namespace

std::string NameInVariable(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return std::isalnum(c) ? static_cast<char>(std::toupper(c)) : '_'; });
  return name;
}

std::string AttemptFolder(int attempt) { return fmt::format("attempt-{}", attempt); }

AttemptPlace PlaceOfAttempt(std::filesystem::path run, int attempt) {
  AttemptPlace place;
  place.run = std::move(run);
  place.attempt = attempt;
  place.directory = place.run / AttemptFolder(attempt);
  return place;
}

Json ToJson(Determinism determinism) {
  if (determinism == Determinism::kCanonical) return "canonical";
  return determinism == Determinism::kOn;
}

Json EffectiveParameters(const TrainSpec& train, const Json& parameters) {
  auto effective = ToJson(train.args);
  effective.update(parameters);
  return effective;
}

Json WithSeedOfRepeat(const TrainSpec& train, const Json& parameters, int repeat) {
  Json raised = parameters;
  const Json effective = EffectiveParameters(train, parameters);
  const auto seed = effective.find("seed");
  if (repeat > 0 && seed != effective.end() && seed->is_number_integer()) {
    raised["seed"] = seed->get<std::int64_t>() + repeat;
  }
  return raised;
}

std::vector<std::string> TrainingCommand(const TrainSpec& train, const Json& parameters, const OwnValues& own) {
  const auto program =
      train.program.empty() ? train.command : std::vector<std::string>{HelperProgram("trainers") / train.program};
  return ExpandCommand(program, ArgumentsFromJson(ParametersAt(train, parameters, own)), train.flags, own);
}

Variables TrainingVariables(const Spec& spec, const std::string& spec_hash, const StagedDirectories& data,
                            const AttemptPlace& place, const Json& parameters, const TrialTerms& terms,
                            const CommandPlace& at) {
  Variables variables{{"SLIPWAY_RUN_DIR", place.run},
                      {"SLIPWAY_ATTEMPT", std::to_string(place.attempt)},
                      {"SLIPWAY_PARAMS", ParametersAt(spec.train, parameters, at.own).dump()},
                      {"SLIPWAY_CHECKPOINT_DIR", place.checkpoints},
                      {"SLIPWAY_OUTPUT_DIR", place.outputs},
                      {"SLIPWAY_RESUME_FROM", place.resume_from},
                      {"SLIPWAY_METRICS", place.metrics()},
                      {"SLIPWAY_STOP_FILE", place.stop_file()},
                      {"SLIPWAY_CONFIG", RuntimeConfiguration(spec, spec_hash).dump()},
                      {"MASTER_ADDR", "127.0.0.1"},
                      {"OMP_NUM_THREADS", std::to_string(spec.launch.cpus_per_rank)},
                      {kPythonPath, PythonPath(InheritedPythonPath(), at.python_modules)},
                      {"PYTHONUNBUFFERED", "1"}};
  AddPlaceVariables(variables, at.own);
  if (spec.mllog) variables.emplace_back("SLIPWAY_MLLOG", place.mllog());
  AddTrialVariables(variables, spec, terms);
  for (const auto& dataset : data) {
    const auto name = NameInVariable(dataset.dataset);
    if (!dataset.directory.empty()) variables.emplace_back("SLIPWAY_DATA_" + name, dataset.directory);
    if (!dataset.shares.empty()) variables.emplace_back("SLIPWAY_SHARES_" + name, dataset.shares);
  }
  for (const auto& [name, value] : spec.launch.env) {
    variables.emplace_back(name, ValueForRanks(name, ReplaceOwnNames(value, at.own), at));
  }
  return variables;
}

Variables VariablesOfNode(const StagedDirectories& data, int node) {
  Variables variables;
  for (const auto& place : data) {
    const auto own = place.on_node.find(node);
    if (own == place.on_node.end()) continue;
    variables.emplace_back("SLIPWAY_DATA_" + NameInVariable(place.dataset), own->second);
  }
  return variables;
}

}  // namespace slipway::launcher
