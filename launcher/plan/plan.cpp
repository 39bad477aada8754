#include "launcher/plan/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/error.h"
#include "core/fnv1a.h"
#include "core/install.h"
#include "core/process.h"
#include "ensemble/schedulers/scheduler.h"
#include "launcher/plan/container_mounts.h"
#include "launcher/plan/data_plan.h"
#include "launcher/plan/promised_buffer.h"
#include "launcher/plan/workdir.h"
#include "launcher/ranks/local/rank_group.h"
#include "launcher/spec/choose_engine.h"
#include "launcher/spec/scheduler_settings.h"
#include "staging/plan/tiers.h"

namespace slipway::launcher {
namespace fs = std::filesystem;

namespace {

/// Empty: it can. Only the manager's node copies checkpoints out.
std::string WhyNotForCheckpoints(const staging::TierState& tier, int nodes) {
  if (!tier.usable) return tier.reason;
  if (nodes == 1 || tier.scope == staging::TierScope::kJob) return {};
  return fmt::format("each of the {} nodes has its own, and only one would be copied out", nodes);
}

/// The first tier that can be written. The size of the checkpoints is still unknown.
CheckpointPlan PlanCheckpoints(const SpecDocument& document) {
  CheckpointPlan plan;
  for (const auto& tier : document.spec.checkpoint.tiers) {
    if (tier == "none") return plan;
    const auto state = TiersForRun({tier}, document).front();
    const auto why_not = WhyNotForCheckpoints(state, NodesOfManager(document.spec));
    if (why_not.empty()) return {state.name, state.root, std::move(plan.rejected)};
    plan.rejected.push_back(state.name + ": " + why_not);
  }
  throw Error(ErrorKind::kEnvironment,
              fmt::format("no tier can take the checkpoints: {}", fmt::join(plan.rejected, "; ")),
              "name another one in checkpoint.tier; none stands for the run folder");
}

/// So that the ranks' programs get the libslipway for the MPI that starts them.
Variables LibraryVariables(const Plan& plan) {
  const auto libraries = plan.spec().launch.ranks() > 1 ? LibrariesFor(plan.mpi.mpi) : std::filesystem::path();
  if (libraries.empty()) return {};
  const auto inherited = Environment::Inherited().Get("LD_LIBRARY_PATH").value_or("");
  return {{"LD_LIBRARY_PATH", libraries.string() + (inherited.empty() ? "" : ":" + inherited)}};
}

/// The job plans again on its own nodes.
bool IsSubmitted(const Spec& spec) { return spec.launch.engine == EngineChoice::kSlurm && NeedsJob(spec); }

/// On a node from which Slurm jobs are submitted there may be no MPI at all.
ChosenStart StartOf(const Spec& spec) {
  const auto& launch = spec.launch;
  if (launch.ranks() == 1) return {};
  if (launch.engine != EngineChoice::kSlurm) return {FindMpiLauncher(launch.mpi), ""};
  try {
    return FindStart(launch.slurm.start, launch.mpi, NeedsJob(spec) ? SeenFrom::kOtherHost : SeenFrom::kNodeOfRanks);
  } catch (const NoSuchStart&) {
    throw;
  } catch (const Error&) {
    return {{.mpi = launch.mpi.value_or(Mpi::kOpenMpi)}, "nothing that starts ranks is here; the job looks again"};
  }
}

}  // namespace

bool IsSubmitted(const Plan& plan) { return IsSubmitted(plan.spec()); }

Plan MakePlan(SpecDocument document, std::filesystem::path runs_directory) {
  RequireEnvironment(document);
  Plan plan;
  plan.engine = WordOf(document.spec.launch.engine);
  plan.runs_directory = std::move(runs_directory);
  auto start = StartOf(document.spec);
  plan.mpi = std::move(start.by);
  plan.start_reason = std::move(start.reason);
  plan.start_doubt = std::move(start.doubt);
  plan.data = PlanDatasets(document);
  plan.checkpoints = PlanCheckpoints(document);
  plan.exchange = PlanExchange(document.spec);
  plan.container = PlanContainer(document, IsSubmitted(document.spec));
  plan.document = std::move(document);
  RequireMounts(plan);
  return plan;
}

fs::path StageOutDirectory(const fs::path& root, const fs::path& folder) {
  return root / ".out" / fmt::format("{}-{:08x}", folder.filename().string(), Fnv1a64(folder.native()) & 0xffffffff);
}

fs::path PlannedFolder(const Plan& plan) { return plan.runs_directory / (plan.spec().name + "-<time>-<id>"); }

AttemptPlace PlannedPlace(const Plan& plan) {
  const fs::path trial = plan.spec().ensemble ? "trials/00000" : "";
  const auto run = PlannedFolder(plan);
  auto place = PlaceOfAttempt(trial.empty() ? run : run / trial, 1);
  const auto tier = plan.checkpoints.root / ".out" / (run.filename().string() + "-<hash>");
  const auto written = plan.checkpoints.root.empty() ? place.run : trial.empty() ? tier : tier / trial;
  place.checkpoints = written / "checkpoints";
  place.outputs = written / "outputs";
  return place;
}

StagedDirectories PlannedDirectories(const Plan& plan) {
  StagedDirectories directories;
  for (const auto& dataset : plan.data) {
    StagedPlace place{dataset.request.name, PlannedDirectory(dataset)};
    if (IsSharedOut(dataset)) place.shares = ShareListIn(PlannedFolder(plan) / "data", dataset.request.name);
    directories.push_back(std::move(place));
  }
  return directories;
}

bool IsPlacedOnNodes(const Plan& plan) {
  return plan.spec().launch.ranks() > 1 && (plan.spec().launch.nodes > 1 || plan.mpi.BySrun());
}

std::string PlannedNode(int number) { return fmt::format("<node {}>", number + 1); }

std::vector<std::string> LaunchCommand(const Plan& plan, const Json& parameters) {
  RankLaunch launch;
  launch.ranks = plan.spec().launch.ranks();
  launch.mpi = plan.mpi;
  launch.command = RankCommand(plan, PlannedDirectories(plan), PlannedPlace(plan), parameters, PlannedTerms(plan));
  launch.working_directory = WorkdirOf(plan, PlannedPlace(plan), PlannedTerms(plan));
  launch.log_directory = PlannedPlace(plan).directory;
  if (IsPlacedOnNodes(plan)) {
    for (int node = 0; node < plan.spec().launch.nodes_per_job; ++node) {
      launch.hosts.push_back({node, PlannedNode(node), plan.spec().launch.ranks_per_node});
    }
  }
  const bool supervised = plan.spec().ensemble && launch.ranks == 1;  // the program itself is forked
  return supervised ? launch.command : LocalCommandLine(launch);
}

Variables VariablesFor(const Plan& plan, const StagedDirectories& data, const AttemptPlace& place,
                       const Json& parameters, const TrialTerms& terms) {
  auto variables = LibraryVariables(plan);
  const auto more = TrainingVariables(plan.spec(), plan.document.spec_hash, data, place, parameters, terms,
                                      CommandPlaceOf(plan, data, place, terms));
  variables.insert(variables.end(), more.begin(), more.end());
  if (!plan.exchange.ways.empty()) variables.emplace_back("SLIPWAY_WAYS", plan.exchange.ways);
  if (!plan.exchange.tuned.empty()) variables.emplace_back("SLIPWAY_ALGORITHM_TABLE", plan.exchange.tuned);
  const auto contained = ContainerVariables(plan, variables);
  variables.insert(variables.begin(), contained.begin(), contained.end());
  return variables;
}

TrialTerms PlannedTerms(const Plan& plan) {
  const auto& ensemble = plan.spec().ensemble;
  if (!ensemble || !ensemble->scheduler) return {};
  auto settings = ensemble->scheduler->settings;
  settings.trials = ensemble->trials.value_or(settings.trials);
  SetParallel(settings, ensemble->parallel);
  TrialTerms terms;
  terms.limit = ensemble::MakeScheduler(settings)->Limit(0);
  return terms;
}

Json ExamplePoint(const EnsembleSpec& ensemble) {
  Json point = Json::object();
  for (const auto& parameter : ensemble.space) point[parameter.name] = "<" + parameter.name + ">";
  return point;
}

}  // namespace slipway::launcher
