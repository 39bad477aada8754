#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>

#include "launcher/spec/burst_buffer_spec.h"
#include "launcher/spec/json_values.h"
#include "launcher/spec/load.h"
#include "launcher/spec/scheduler_settings.h"

namespace slipway::launcher {
namespace {

constexpr std::array kDistributions = {Word{"replicate", Distribution::kReplicate}, Word{"shard", Distribution::kShard},
                                       Word{"node-shard", Distribution::kNodeShard}};
constexpr std::array kVerifications = {Word{"off", Verification::kOff}, Word{"format", Verification::kFormat},
                                       Word{"full", Verification::kFull}};
constexpr std::array kKeeps = {Word{"job", Keep::kJob}, Word{"cache", Keep::kCache}};
constexpr std::array kRemainders = {Word{"drop", Remainder::kDrop}, Word{"repeat", Remainder::kRepeat},
                                    Word{"pad", Remainder::kPad}};
constexpr std::array kOnCorrupts = {Word{"fail", OnCorrupt::kFail}, Word{"skip", OnCorrupt::kSkip}};
constexpr std::array kTierKinds = {Word{"disk", staging::TierKind::kDisk}, Word{"ram", staging::TierKind::kRam},
                                   Word{"burst", staging::TierKind::kBurst}};
constexpr std::array kScopes = {Word{"node", staging::TierScope::kNode}, Word{"job", staging::TierScope::kJob}};
constexpr std::array kEngines = {Word{"auto", EngineChoice::kAuto}, Word{"local", EngineChoice::kLocal},
                                 Word{"slurm", EngineChoice::kSlurm}};
constexpr std::array kMpis = {Word<std::optional<Mpi>>{"auto", std::nullopt},
                              Word<std::optional<Mpi>>{"openmpi", Mpi::kOpenMpi},
                              Word<std::optional<Mpi>>{"mpich", Mpi::kMpich}};
constexpr std::array kBinds = {Word{"auto", Bind::kAuto}, Word{"cores", Bind::kCores}, Word{"none", Bind::kNone}};
constexpr std::array kStarts = {Word{"auto", StartChoice::kAuto}, Word{"mpirun", StartChoice::kMpirun},
                                Word{"pmix", StartChoice::kPmix}, Word{"pmi2", StartChoice::kPmi2}};
constexpr std::array kMetricsSources = {Word{"runtime", MetricsSource::kRuntime},
                                        Word{"stdout", MetricsSource::kStdout}};
constexpr std::array kModes = {Word{"sync", GradientMode::kSync}, Word{"delayed", GradientMode::kDelayed}};
constexpr std::array kCompressions = {Word{"none", Compression::kNone}, Word{"bf16", Compression::kBf16},
                                      Word{"fp16", Compression::kFp16}};
constexpr std::array kOnTimeLimits = {Word{"stop", OnTimeLimit::kStop}, Word{"requeue", OnTimeLimit::kRequeue}};
constexpr std::array kSignals = {Word{"none", StopSignal::kNone}, Word{"USR1", StopSignal::kUsr1},
                                 Word{"TERM", StopSignal::kTerm}};
constexpr std::array kOnNodeFailures = {Word{"fail", OnNodeFailure::kFail}, Word{"exclude", OnNodeFailure::kExclude}};
constexpr std::array kGoals = {Word{"minimize", Goal::kMinimize}, Word{"maximize", Goal::kMaximize}};
constexpr std::array kObjectiveValues = {Word{"last", ObjectiveValue::kLast}, Word{"best", ObjectiveValue::kBest}};

std::vector<std::string> Texts(const Json& json) {
  return json.is_null() ? std::vector<std::string>() : json.get<std::vector<std::string>>();
}

template <class Value>
std::optional<Value> Maybe(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional<Value>(json.get<Value>());
}

std::optional<Seconds> MaybeSeconds(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional<Seconds>(json.get<double>());
}

/// 0 where there is no limit.
Bytes BytesOrNone(const Json& json) { return Bytes{json.is_null() ? 0 : json.get<std::uint64_t>()}; }

staging::TierDefinition BuildTier(const std::string& name, const Json& json) {
  staging::TierDefinition result;
  result.name = name;
  result.path = TextOrEmpty(json.at("path"));
  result.kind = FromWord(kTierKinds, json.at("kind"));
  if (!json.at("scope").is_null()) result.scope = FromWord(kScopes, json["scope"]);
  result.capacity = MaybeBytes(json.at("capacity"));
  result.bandwidth = BytesOrNone(json.at("bandwidth"));
  result.origin = "site.tiers." + name;
  return result;
}

DatasetSpec BuildDataset(const std::string& name, const Json& json) {
  DatasetSpec result;
  result.name = name;
  result.sources = Texts(json.at("source"));
  result.format = staging::ParseDataFormat(json.at("format").get<std::string>()).value();
  result.tiers = Texts(json.at("tier"));
  result.distribute = FromWord(kDistributions, json.at("distribute"));
  result.verify = FromWord(kVerifications, json.at("verify"));
  result.keep = FromWord(kKeeps, json.at("keep"));
  result.bandwidth = BytesOrNone(json.at("bandwidth"));
  result.overlap = json.at("overlap").get<bool>();
  result.seed = json.at("seed").get<std::uint64_t>();
  result.remainder = FromWord(kRemainders, json.at("remainder"));
  result.on_corrupt = FromWord(kOnCorrupts, json.at("on_corrupt"));
  return result;
}

SlurmSpec BuildSlurm(const Json& json) {
  SlurmSpec result;
  result.partition = TextOrEmpty(json.at("partition"));
  result.account = TextOrEmpty(json.at("account"));
  result.constraint = TextOrEmpty(json.at("constraint"));
  result.qos = TextOrEmpty(json.at("qos"));
  result.reservation = TextOrEmpty(json.at("reservation"));
  result.licenses = TextOrEmpty(json.at("licenses"));
  const Json& memory = json.at("memory_per_node");
  result.memory_per_node = memory.is_string() ? Bytes{0} : MaybeBytes(memory);
  result.exclusive = json.at("exclusive").get<bool>();
  result.requeue = json.at("requeue").get<bool>();
  result.signal_before = Seconds(json.at("signal_before").get<double>());
  result.extra = Texts(json.at("extra"));
  result.start = FromWord(kStarts, json.at("start"));
  result.burst_buffer = BuildBurstBuffer(json.at("burst_buffer"));
  return result;
}

/// Nothing for auto.
std::optional<ContainerRuntime> RuntimeCalled(const std::string& word) {
  const auto is_it = [&](ContainerRuntime runtime) { return NameOf(runtime) == word; };
  const auto found = std::ranges::find_if(kContainerRuntimes, is_it);
  return found != std::end(kContainerRuntimes) ? std::optional(*found) : std::nullopt;
}

/// Runs of earlier versions, which had no such field, worked in the spec's folder.
WorkdirSpec BuildWorkdir(const Json& launch) {
  const auto value = launch.value("workdir", "spec");
  if (value == "own") return {};
  return value == "spec" ? WorkdirSpec{WorkdirKind::kSpec} : WorkdirSpec{WorkdirKind::kPath, value};
}

LaunchSpec BuildLaunch(const Json& json) {
  LaunchSpec result;
  result.engine = FromWord(kEngines, json.at("engine"));
  result.mpi = FromWord(kMpis, json.at("mpi"));
  result.nodes = json.at("nodes").get<int>();
  result.ranks_per_node = json.at("ranks_per_node").get<int>();
  result.cpus_per_rank = json.at("cpus_per_rank").get<int>();
  result.gpus_per_rank = json.at("gpus_per_rank").get<int>();
  result.bind = FromWord(kBinds, json.at("bind"));
  result.memory_per_rank = MaybeBytes(json.at("memory_per_rank"));
  result.time_limit = MaybeSeconds(json.at("time_limit"));
  result.slurm = BuildSlurm(json.at("slurm"));
  result.modules = Texts(json.at("modules"));
  for (const auto& [name, value] : json.at("env").items()) result.env.emplace_back(name, value.get<std::string>());
  result.workdir = BuildWorkdir(json);
  result.files = Texts(json.value("files", Json::array()));
  if (const Json& container = json.at("container"); !container.is_null()) {
    result.container = {TextOrEmpty(container.at("image")), RuntimeCalled(container.at("runtime").get<std::string>()),
                        Texts(container.at("binds")), Texts(container.at("options"))};
  }
  return result;
}

TrainSpec BuildTrain(const Json& json) {
  TrainSpec result;
  result.program = TextOrEmpty(json.at("program"));
  result.command = Texts(json.at("command"));
  const Json& validation = json.at("validation");
  if (!validation.is_null()) {
    result.validation = {validation.at("from").get<std::string>(), validation.at("fraction").get<double>(),
                         validation.at("seed").get<std::uint64_t>()};
  }
  result.args = ensemble::PointFromJson(json.at("args"));
  result.metrics = {FromWord(kMetricsSources, json.at("metrics").at("from")),
                    TextOrEmpty(json.at("metrics").at("pattern"))};
  return result;
}

StepCount BuildSteps(const Json& json) {
  if (json.is_object()) return {std::nullopt, json.at("fraction").get<double>()};
  return {json.get<std::int64_t>(), std::nullopt};
}

Determinism BuildDeterminism(const Json& json) {
  if (json.is_string()) return Determinism::kCanonical;
  return json.get<bool>() ? Determinism::kOn : Determinism::kOff;
}

GradientsSpec BuildGradients(const Json& json) {
  GradientsSpec result;
  result.mode = FromWord(kModes, json.at("mode"));
  result.lag = Maybe<int>(json.at("lag")).value_or(0);
  result.sync_first = BuildSteps(json.at("sync_first"));
  result.sync_last = BuildSteps(json.at("sync_last"));
  result.accumulate = json.at("accumulate").get<int>();
  result.teams = json.at("teams").get<int>();
  result.compress = FromWord(kCompressions, json.at("compress"));
  result.clip_norm = Maybe<double>(json.at("clip_norm"));
  result.check_finite = json.at("check_finite").get<bool>();
  result.deterministic = BuildDeterminism(json.at("deterministic"));
  result.bucket = Bytes{json.at("bucket").get<std::uint64_t>()};
  result.network = json.at("network").get<std::string>();
  result.algorithms = TextOrEmpty(json.at("algorithms"));
  return result;
}

CheckpointSpec BuildCheckpoint(const Json& json) {
  CheckpointSpec result;
  result.every = MaybeSeconds(json.at("every"));
  result.keep = json.at("keep").get<int>();
  result.tiers = Texts(json.at("tier"));
  result.bandwidth = MaybeBytes(json.at("bandwidth"));
  result.on_time_limit = FromWord(kOnTimeLimits, json.at("on_time_limit"));
  result.signal = FromWord(kSignals, json.at("signal"));
  return result;
}

ResilienceSpec BuildResilience(const Json& json) {
  return {json.at("max_restarts").get<int>(), FromWord(kOnNodeFailures, json.at("on_node_failure")),
          json.at("min_nodes").get<int>(), json.value("spare_nodes", 0), Seconds(json.at("stall_after").get<double>())};
}

TraceSpec BuildTrace(const Json& json) { return {json.at("every").get<int>(), json.at("chrome").get<bool>()}; }

/// Of the whole spec. Runs of earlier versions have none.
std::optional<MllogSpec> BuildMllog(const Json& spec) {
  if (!spec.contains("mllog") || !spec["mllog"].at("write").get<bool>()) return std::nullopt;
  const Json& json = spec["mllog"];
  MllogSpec result;
  for (const Json& name : {json.at("benchmark"), spec.at("train").at("program"), spec.at("name")}) {
    if (result.benchmark.empty()) result.benchmark = TextOrEmpty(name);
  }
  result.org = json.at("org").get<std::string>();
  result.division = json.at("division").get<std::string>();
  result.status = json.at("status").get<std::string>();
  result.platform = TextOrEmpty(json.at("platform"));
  result.staging_included = json.at("staging") == "included";
  result.target = Maybe<double>(json.at("target"));
  return result;
}

ObjectiveSpec BuildObjective(const Json& json) {
  return {json.at("metric").get<std::string>(), FromWord(kGoals, json.at("goal")),
          FromWord(kObjectiveValues, json.at("value")),
          json.contains("reach") ? Maybe<double>(json["reach"]) : std::nullopt};
}

SchedulerSpec BuildScheduler(const Json& json) {
  return {json.at("resource").get<std::string>(), SchedulerSettingsFrom(json)};
}

EnsembleSpec BuildEnsemble(const Json& json) {
  EnsembleSpec result;
  result.objective = BuildObjective(json.at("objective"));
  for (const Json& objective : json.at("objectives")) result.more_objectives.push_back(BuildObjective(objective));
  result.trials = Maybe<int>(json.at("trials"));
  if (json.at("parallel").is_number()) result.parallel = json["parallel"].get<int>();
  result.placement = json.value("placement", "") == "job" ? Placement::kJob : Placement::kAllocation;
  result.nodes_per_trial = json.at("nodes_per_trial").get<int>();
  result.sampler = json.at("sampler").get<std::string>();
  if (!json.at("scheduler").is_null()) result.scheduler = BuildScheduler(json["scheduler"]);
  result.seed = json.at("seed").get<std::uint64_t>();
  result.max_failures = Maybe<int>(json.at("max_failures"));
  result.stop_on_same_failure = json.value("stop_on_same_failure", 0);  // runs of earlier versions have none
  result.time_limit = MaybeSeconds(json.at("time_limit"));
  result.repeats = json.at("repeats").get<int>();
  const Json& budget = json.at("budget");
  if (!budget.is_null()) result.budget = {MaybeSeconds(budget.at("time")), Maybe<double>(budget.at("node_hours"))};
  result.constraints = Texts(json.at("constraints"));
  for (const auto& [name, definition] : json.at("space").items()) {
    result.space.push_back(ensemble::ParseParameter(name, definition));
  }
  for (const Json& point : json.at("points")) result.points.push_back(ensemble::PointFromJson(point));
  const Json& select = json.at("select");
  if (!select.is_null()) {
    result.select = {Maybe<int>(select.at("top")), select.at("method").get<std::string>(),
                     Maybe<std::string>(select.at("metric")), select.value("by", "trial")};
  }
  return result;
}

SiteSpec Site(const Json& json) {
  SiteSpec result;
  const Json& site = json.at("site");
  for (const auto& [name, tier] : site.at("tiers").items()) result.tiers.push_back(BuildTier(name, tier));
  result.tier_order = Texts(site.at("tier_order"));
  result.bandwidth = BytesOrNone(site.at("bandwidth"));
  for (const auto& [alias, tier] : json.at("tiers").items()) {
    result.aliases.emplace_back(alias, tier.get<std::string>());
  }
  return result;
}

Spec Build(const Json& json) {
  Spec spec;
  spec.name = json.at("name").get<std::string>();
  spec.description = TextOrEmpty(json.at("description"));
  spec.site = Site(json);
  for (const auto& [name, dataset] : json.at("data").items()) spec.data.push_back(BuildDataset(name, dataset));
  spec.launch = BuildLaunch(json.at("launch"));
  spec.train = BuildTrain(json.at("train"));
  spec.gradients = BuildGradients(json.at("gradients"));
  spec.checkpoint = BuildCheckpoint(json.at("checkpoint"));
  spec.resilience = BuildResilience(json.at("resilience"));
  spec.trace = BuildTrace(json.at("trace"));
  spec.mllog = BuildMllog(json);
  if (!json.at("ensemble").is_null()) spec.ensemble = BuildEnsemble(json["ensemble"]);
  spec.launch.nodes_per_job = spec.ensemble ? spec.ensemble->nodes_per_trial : spec.launch.nodes;
  return spec;
}

}  // namespace

SiteSpec BuildSite(const Json& resolved) {
  try {
    return Site(resolved);
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorKind::kInternal, fmt::format("the resolved settings cannot be read: {}", error.what()));
  }
}

Spec BuildSpec(const Json& resolved) {
  try {
    return Build(resolved);
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorKind::kInternal, fmt::format("the resolved spec cannot be read: {}", error.what()));
  }
}

}  // namespace slipway::launcher
