/// The plan of a run: every decision made before it starts. It holds no defaults to resolve, and can be printed.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "launcher/plan/container.h"
#include "launcher/plan/exchange.h"
#include "launcher/plan/training_command.h"
#include "launcher/spec/load.h"
#include "staging/plan/plan.h"

namespace slipway::launcher {

/// Where the program writes its checkpoints and results.
struct CheckpointPlan {
  std::string tier = "none";          ///< none: into the run folder
  std::filesystem::path root;         ///< of the tier; empty for none
  std::vector<std::string> rejected;  ///< one line for each tier before it
};

struct Plan {
  SpecDocument document;
  std::string engine;                    ///< "local" or "slurm"
  std::filesystem::path runs_directory;  ///< absolute
  MpiLauncher mpi;                       ///< of several ranks
  std::string start_reason;              ///< why this starter; empty where there is no choice
  std::string start_doubt;               ///< why it may fail on the nodes of the job; empty: nothing speaks against it
  std::vector<staging::StagingPlan> data;
  CheckpointPlan checkpoints;
  ExchangePlan exchange;
  std::optional<ContainerPlan> container;  ///< of each rank

  const Spec& spec() const { return document.spec; }
};

/// Examines the sources and the tiers and makes the plan; writes nothing.
/// Errors: SpecError for what the machine lacks; Error(kEnvironment) when a dataset fits no tier, or no tier for
/// checkpoints is usable; what PlanExchange, PlanContainer and RequireMounts throw.
Plan MakePlan(SpecDocument document, std::filesystem::path runs_directory);

/// The directory in the tier with root `root` for everything that the run in `folder` writes there. Its name holds the
/// run's id and the whole path of its folder, so two runs never share one.
std::filesystem::path StageOutDirectory(const std::filesystem::path& root, const std::filesystem::path& folder);

/// The run folder as the plan shows it, before the run has a name.
std::filesystem::path PlannedFolder(const Plan& plan);
/// The place of the first attempt as the plan shows it.
AttemptPlace PlannedPlace(const Plan& plan);
StagedDirectories PlannedDirectories(const Plan& plan);
/// Whether a job carries the run out that is not yet submitted. That job examines its nodes and plans again there.
bool IsSubmitted(const Plan& plan);
/// Whether its ranks are assigned to nodes by name.
bool IsPlacedOnNodes(const Plan& plan);
/// The name of a node of the job as the plan shows it.
std::string PlannedNode(int number);
/// The command that starts all ranks: `mpirun -n 2 ... slipway-rank ... -- fashion --epochs 3`.
std::vector<std::string> LaunchCommand(const Plan& plan, const Json& parameters);
/// Everything that Slipway sets for a rank of the attempt in `place`.
Variables VariablesFor(const Plan& plan, const StagedDirectories& data, const AttemptPlace& place,
                       const Json& parameters, const TrialTerms& terms = {});
/// The terms of the first trial, as the plan shows them.
TrialTerms PlannedTerms(const Plan& plan);
/// A point whose values are the parameters' names in angle brackets, to show the command of a trial.
Json ExamplePoint(const EnsembleSpec& ensemble);

/// For `slipway plan`: what is staged, started and stored, and why.
std::string DescribePlan(const Plan& plan);
inline constexpr const char* kPlanSchema = "slipway.plan/1";
/// `slipway.plan/1`; also plan.json of the run folder.
Json ToJson(const Plan& plan);

}  // namespace slipway::launcher
