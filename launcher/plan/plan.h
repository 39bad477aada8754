/// Everything that is decided before anything starts. Nothing in it is left to a default; it can be printed.
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
  std::string start_reason;              ///< why they are started so; empty where there is no choice
  std::vector<staging::StagingPlan> data;
  CheckpointPlan checkpoints;
  ExchangePlan exchange;
  std::optional<ContainerPlan> container;  ///< that each rank runs in

  const Spec& spec() const { return document.spec; }
};

/// Looks at the sources and the tiers, chooses, writes nothing.
/// Errors: SpecError for what the machine lacks; Error(kEnvironment) when a dataset fits no tier or no tier for
/// checkpoints can be used; what PlanExchange, PlanContainer and RequireMounts throw.
Plan MakePlan(SpecDocument document, std::filesystem::path runs_directory);

/// The directory below which everything of the run in `folder` lies in the tier whose root is `root`. Two runs never
/// share one: its name holds the run's id and the whole path of its folder.
std::filesystem::path StageOutDirectory(const std::filesystem::path& root, const std::filesystem::path& folder);

/// The folder of the run as the plan shows it, before it has a name.
std::filesystem::path PlannedFolder(const Plan& plan);
/// The place of the first attempt as the plan shows it.
AttemptPlace PlannedPlace(const Plan& plan);
StagedDirectories PlannedDirectories(const Plan& plan);
/// Whether a job that is still to be submitted carries it out, which looks at its own nodes and plans again there.
bool IsSubmitted(const Plan& plan);
/// Whether its ranks are given to nodes by name.
bool IsPlacedOnNodes(const Plan& plan);
/// The name of a node of the job as the plan shows it.
std::string PlannedNode(int number);
/// The command that starts all ranks, e.g. `mpirun -n 2 ... slipway-rank ... -- fashion --epochs
/// 3`.
std::vector<std::string> LaunchCommand(const Plan& plan, const Json& parameters);
/// Everything that Slipway sets for a rank of the attempt in `place`.
Variables VariablesFor(const Plan& plan, const StagedDirectories& data, const AttemptPlace& place,
                       const Json& parameters, const TrialTerms& terms = {});
/// Of the first trial, as the plan shows it.
TrialTerms PlannedTerms(const Plan& plan);
/// A point whose values are the names of the parameters in angle brackets, for showing the command of a trial.
Json ExamplePoint(const EnsembleSpec& ensemble);

/// For `slipway plan`: what is staged, started and stored, and why.
std::string DescribePlan(const Plan& plan);
/// `slipway.plan/1`; also plan.json of the run folder.
Json ToJson(const Plan& plan);

}  // namespace slipway::launcher
