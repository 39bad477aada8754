// How a plan reads: for people, and as a document.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "core/install.h"
#include "core/json_text.h"
#include "core/process.h"
#include "core/text.h"
#include "ensemble/samplers/first_points.h"
#include "ensemble/samplers/sampler.h"
#include "launcher/plan/batch_plan.h"
#include "launcher/plan/container_mounts.h"
#include "launcher/plan/data_plan.h"
#include "launcher/plan/grid_trials.h"
#include "launcher/plan/plan.h"
#include "launcher/plan/trial_document.h"
#include "launcher/plan/trials_at_a_time.h"
#include "launcher/plan/workdir.h"
#include "launcher/ranks/local/node_devices.h"
#include "launcher/spec/choose_engine.h"
#include "launcher/spec/load.h"
#include "launcher/spec/origin.h"
#include "launcher/spec/secrets.h"

namespace slipway::launcher {
namespace {

/// A line for each field that a settings file or `--set` gave: "launch.slurm.account: m1234
/// (/etc/slipway/site.yaml:3)". Empty without any.
std::string DescribeOrigins(const SpecDocument& document) {
  std::string text;
  const auto resolved = WithoutSecrets(*document.resolved);
  for (const auto& [path, origin] : document.origins) {
    const auto* value = ValueAt(resolved, path);
    // A section stands in its fields' lines.
    if (value == nullptr || value->is_object() || !ComesFromElsewhere(origin, document.file)) continue;
    text += fmt::format("  {}: {} ({})\n", path, PlainText(*value), origin);
  }
  return text.empty() ? text : "settings:\n" + text + "\n";
}

std::string DescribeData(const Plan& plan) {
  if (plan.data.empty()) return "data: none\n";
  std::string text = "data:\n";
  for (std::size_t i = 0; i < plan.data.size(); ++i) text += DescribeDataset(plan.data[i], plan.spec().data[i]);
  return text;
}

/// Nothing where checkpoints go straight into the run folder.
std::string DescribeCheckpoints(const Plan& plan) {
  const auto& checkpoints = plan.checkpoints;
  if (checkpoints.root.empty() && checkpoints.rejected.empty()) return {};
  auto text = fmt::format("checkpoints and results:\n  tier {}{}\n", checkpoints.tier,
                          checkpoints.root.empty() ? ": straight into the run folder"
                                                   : fmt::format(", copied out while the program runs, {} kept",
                                                                 plan.spec().checkpoint.keep));
  for (const auto& rejected : checkpoints.rejected) text += fmt::format("  not {}\n", rejected);
  return text + "\n";
}

std::string Describe(const SchedulerSpec& scheduler) {
  const auto& settings = scheduler.settings;
  return fmt::format("  scheduler {}, from {} {:.6g} on{}{}\n", settings.type, scheduler.resource, settings.min,
                     settings.interval > 0 ? fmt::format(", with an interval of {:.6g}", settings.interval) : "",
                     settings.max ? fmt::format(", a whole trial has {:.6g}", *settings.max) : "");
}

std::string Describe(const SelectSpec& select) {
  return fmt::format("  at its end a model ensemble{}, chosen by method {}{}\n",
                     select.top ? fmt::format(" of {} trials at most", *select.top) : "", select.method,
                     select.metric ? " and " + *select.metric : "");
}

/// Whether the trials share this machine's cores or GPUs, so that the report shows how many fit.
bool FitsHere(const Plan& plan) {
  const auto& spec = plan.spec();
  const bool is_open = spec.ensemble && (!spec.ensemble->parallel || spec.launch.gpus_per_rank > 0);
  return is_open && spec.launch.nodes == 1 && !IsSubmitted(plan);
}

/// A grid too large to be run, or to be counted, is still one to be shown.
std::string DescribeCount(const EnsembleSpec& ensemble) {
  const auto count = CountTrials(ensemble);
  if (!count) return ensemble.trials ? fmt::format("{} trials at most", *ensemble.trials) : "all grid trials";
  const bool fewer = ensemble.trials && *count < *ensemble.trials;
  return fmt::format("{}{}", Counted(*count, "trial"),
                     fewer ? fmt::format(" (the grid has no more; {} are allowed)", *ensemble.trials) : "");
}

/// What the first trials try; of many the first ones.
std::string DescribePoints(const EnsembleSpec& ensemble) {
  constexpr std::size_t kShown = 3;
  const auto space = ensemble::MakeSearchSpace(ensemble.space, ensemble.constraints);
  const auto points = ensemble::DistinctPoints(space, ensemble.points, ensemble.seed);
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, points.size()); ++i) {
    text += fmt::format("  {:<12} {}\n", i == 0 ? "first" : "then", ensemble::Describe(points[i]));
  }
  if (points.size() > kShown) text += fmt::format("  {:<12} {} more\n", "", points.size() - kShown);
  return text;
}

/// "tpe", "auto (portfolio)".
std::string DescribeSampler(const EnsembleSpec& ensemble) {
  ensemble::SamplerSettings settings;
  settings.name = ensemble.sampler;
  settings.trials = ensemble.trials.value_or(settings.trials);
  const auto chosen =
      ensemble::ResolveSampler(settings, ensemble::MakeSearchSpace(ensemble.space, ensemble.constraints));
  return chosen == ensemble.sampler ? chosen : fmt::format("{} ({})", ensemble.sampler, chosen);
}

std::string DescribeEnsemble(const Plan& plan) {
  const auto& ensemble = *plan.spec().ensemble;
  auto text =
      fmt::format("ensemble:\n  {}, {} at a time, sampler {}, seed {}; {} {}\n", DescribeCount(ensemble),
                  ensemble.parallel ? std::to_string(*ensemble.parallel) : "as many as fit", DescribeSampler(ensemble),
                  ensemble.seed, WordOf(ensemble.objective.goal), ensemble.objective.metric);
  if (FitsHere(plan)) text += fmt::format("  {}\n", DescribeFit(plan.spec()));
  if (ensemble.repeats > 1) text += fmt::format("  each configuration {} times\n", ensemble.repeats);
  if (ensemble.scheduler) text += Describe(*ensemble.scheduler);
  if (ensemble.select) text += Describe(*ensemble.select);
  for (const auto& parameter : ensemble.space) {
    text += fmt::format("  {:<12} {}\n", parameter.name, ensemble::ToJson(parameter).dump());
  }
  for (const auto& constraint : ensemble.constraints) text += fmt::format("  where        {}\n", constraint);
  return text + DescribePoints(ensemble);
}

/// What the ranks on a node are to have, and what this machine has where they start here.
std::string DescribeGpus(const Plan& plan) {
  const auto& launch = plan.spec().launch;
  if (launch.gpus_per_rank == 0) return {};
  auto text = fmt::format("  gpus  {} for each rank", launch.gpus_per_rank);
  if (launch.bind == Bind::kNone) text += ", which sees those of the others, too (bind: none)";
  if (plan.engine == "local") text += fmt::format("; this machine has {}", Describe(DevicesOfThisNode()));
  if (IsSubmitted(plan)) {
    const auto job = SubmittedJob(plan);
    text += fmt::format("; the job asks for {} on each node", job.ranks_per_node * job.gpus_per_rank);
  }
  return text + "\n";
}

/// What starts several ranks under Slurm and why, and what they are bound to.
std::string DescribeWay(const Plan& plan) {
  std::string text;
  if (!plan.start_reason.empty()) {
    text += fmt::format("  by  {}, for {}: {}\n", plan.mpi.Way(), FullNameOf(plan.mpi.mpi), plan.start_reason);
  }
  if (!plan.start_doubt.empty()) text += fmt::format("  but  {}\n", plan.start_doubt);
  const auto bind = plan.spec().launch.bind;
  const bool by_auto = bind == Bind::kAuto && plan.engine == "slurm";
  if (plan.spec().launch.ranks() > 1 && (bind == Bind::kCores || by_auto)) {
    text += fmt::format("  on  cores of its own for each rank{}\n", by_auto ? ", if no other job can use them" : "");
  }
  return text + DescribeGpus(plan);
}

std::filesystem::path PlannedWorkdir(const Plan& plan) {
  return WorkdirOf(plan, PlannedPlace(plan), PlannedTerms(plan));
}

/// Where the ranks work, and what they find of the files beside the spec.
std::string DescribeWorkdir(const Plan& plan, const Json& parameters) {
  auto text = fmt::format("  in  {}\n", PlannedWorkdir(plan).string());
  const auto linked = JoinEach(LinksOf(plan), ", ", [](const auto& link) { return link.name; });
  if (!linked.empty()) text += fmt::format("  links to  {}\n", linked);
  const auto named = JoinEach(NamedBesideSpec(plan, parameters), ", ", [](const auto& path) { return path.string(); });
  if (!named.empty()) text += fmt::format("  uses  {} in {}\n", named, plan.document.directory.string());
  return text;
}

std::string DescribeStart(const Plan& plan, const Json& parameters) {
  const auto& launch = plan.spec().launch;
  const auto& reason = plan.document.engine_reason;
  auto text = fmt::format("start: engine {}{}, {}{}\n", plan.engine, reason.empty() ? "" : " (" + reason + ")",
                          Counted(launch.ranks(), "rank"), plan.spec().ensemble ? " for each trial" : "");
  text += DescribeWorkdir(plan, parameters);
  text += DescribeWay(plan);
  text += DescribeContainer(plan);
  if (IsSubmitted(plan)) return text + "  the job looks at its own nodes and plans data and ranks again there\n";
  text += fmt::format("  run {}\n", QuoteForShell(LaunchCommand(plan, parameters)));
  return text;
}

/// The script as it will be submitted, every line from its first column on.
std::string DescribeScript(const Plan& plan) {
  if (!IsSubmitted(plan)) return {};
  const auto submitted = PlanSubmitted(plan);
  const auto job = MakeBatchJob(submitted.plan, submitted.folder);
  const auto for_sbatch = OptionsOnlyForSbatch(job);
  const auto how = for_sbatch.empty() ? std::string()
                                      : fmt::format(", with sbatch, which alone reads {}", fmt::join(for_sbatch, " "));
  const auto what = TrialsAreJobs(plan.spec()) ? ", one for each trial" : "";
  auto text = fmt::format("\nsubmit: job.sh{}{}\n\n{}", what, how, RenderBatchScript(job));
  for (const auto& list : StageLists(submitted.plan, submitted.folder)) {
    const auto files = std::count(list.content.begin(), list.content.end(), '\n');
    text += fmt::format("\n{} names {} files\n", list.path.filename().string(), files);
  }
  return text;
}

std::vector<std::string> CommandOf(const Plan& plan, const Json& parameters) {
  if (IsSubmitted(plan)) return SubmittedJob(plan).command;
  return LaunchCommand(plan, parameters);
}

/// Null where it is unknown on this machine.
Json AtATime(const Plan& plan) {
  return FitsHere(plan) ? Json(FitTrials(plan.spec(), {ThisMachine(plan.spec())}).count) : Json();
}

/// Null without an ensemble, and where the number is unknown before the trials run.
Json TrialsOf(const Plan& plan) {
  const auto count = plan.spec().ensemble ? CountTrials(*plan.spec().ensemble) : std::nullopt;
  return count ? Json(*count) : Json();
}

/// Null for a lone rank.
Json StartOf(const Plan& plan) {
  if (plan.spec().launch.ranks() == 1) return {};
  return Json{{"way", plan.mpi.Way()}, {"mpi", WordOf(plan.mpi.mpi)}, {"reason", plan.start_reason}};
}

/// Null where ranks run on the machine itself.
Json ContainerOf(const Plan& plan) {
  if (!plan.container) return {};
  Json binds = Json::array();
  for (const auto& mount : MountsFor(plan, PlannedDirectories(plan))) binds.push_back({mount.from, mount.to});
  return Json{{"runtime", WordOf(plan.container->runtime)},
              {"image", plan.container->image},
              {"binds", std::move(binds)},
              {"reason", plan.container->reason}};
}

Json EnvironmentOf(const Plan& plan, const Json& parameters) {
  Json environment = Json::object();
  const auto place = PlannedPlace(plan);
  for (const auto& [name, value] :
       VariablesFor(plan, PlannedDirectories(plan), place, parameters, PlannedTerms(plan))) {
    environment[name] = value;
  }
  if (IsPlacedOnNodes(plan)) environment["MASTER_ADDR"] = PlannedNode(0);
  environment["MASTER_PORT"] = "<a free port>";  // chosen when the ranks start
  return environment;
}

Json ParametersShown(const Plan& plan) {
  return plan.spec().ensemble ? ExamplePoint(*plan.spec().ensemble) : Json::object();
}

}  // namespace

std::string DescribePlan(const Plan& plan) {
  const auto parameters = ParametersShown(plan);
  auto text = fmt::format("experiment {} ({}, hash {})\n\n", plan.spec().name, plan.document.file.string(),
                          plan.document.spec_hash);
  text += DescribeOrigins(plan.document);
  text += DescribeData(plan) + "\n";
  text += DescribeCheckpoints(plan);
  if (plan.spec().ensemble) text += DescribeEnsemble(plan) + "\n";
  text += Describe(plan.exchange, plan.spec().gradients) + "\n";
  text += DescribeStart(plan, parameters) + "  with\n";
  const auto environment = EnvironmentOf(plan, parameters);
  for (const auto& [name, value] : environment.items()) {
    text += fmt::format("    {}={}\n", name, value.get<std::string>());
  }
  text += DescribeScript(plan);
  return text + fmt::format("\nstore: {}\n", PlannedFolder(plan).string());
}

Json ToJson(const Plan& plan) {
  const auto parameters = ParametersShown(plan);
  Json data = Json::array();
  for (const auto& dataset : plan.data) data.push_back(staging::ToJson(dataset));
  return Json{{"schema", kPlanSchema},
              {"name", plan.spec().name},
              {"spec_file", plan.document.file.string()},
              {"spec_directory", plan.document.directory.string()},
              {"spec_hash", plan.document.spec_hash},
              {"spec", *plan.document.resolved},
              {"origins", plan.document.origins},
              {"engine", plan.engine},
              {"engine_reason", plan.document.engine_reason},
              {"hosts", Json::array({HostName()})},
              {"ranks", plan.spec().launch.ranks()},
              {"data", data},
              {"checkpoints",
               {{"tier", plan.checkpoints.tier},
                {"root", plan.checkpoints.root.string()},
                {"rejected", plan.checkpoints.rejected}}},
              {"exchange", ToJson(plan.exchange, plan.spec().gradients)},
              {"trials", TrialsOf(plan)},
              {"trials_at_a_time", AtATime(plan)},
              {"start", StartOf(plan)},
              {"container", ContainerOf(plan)},
              {"command", CommandOf(plan, parameters)},
              {"script", IsSubmitted(plan) ? Json(RenderBatchScript(SubmittedJob(plan))) : Json()},
              {"working_directory", PlannedWorkdir(plan).string()},
              {"environment", EnvironmentOf(plan, parameters)},
              {"runs_directory", plan.runs_directory.string()},
              {"slipway", {{"version", Version()}, {"revision", SourceRevision()}}}};
}

}  // namespace slipway::launcher
