#include "launcher/cli/commands/ensemble_target.h"

#include <fmt/format.h>

#include "core/error.h"
#include "launcher/cli/commands/find_run.h"
#include "launcher/cli/commands/plan.h"
#include "launcher/run/trials/ensemble_options.h"
#include "launcher/run_folder/prepare.h"

namespace slipway::launcher {
namespace {

std::optional<RunFolder> FolderOf(const std::string& name, Session& session) {
  if (std::filesystem::is_regular_file(name)) return std::nullopt;
  return FindExperiment(session, name);
}

}  // namespace

ensemble::EnsembleOptions OptionsOfEnsemble(const Plan& plan) {
  if (plan.spec().ensemble) return EnsembleOptionsFor(plan);
  throw Error(ErrorKind::kUsage, fmt::format("the experiment '{}' has no ensemble", plan.spec().name),
              "give it a section 'ensemble' with an objective and a space");
}

EnsembleTarget::EnsembleTarget(const std::string& name, Session& session)
    : session_(session),
      folder_(FolderOf(name, session)),
      plan_(folder_ ? ReplanRun(*folder_) : PlanFor({name, {}}, session)),
      options_(OptionsOfEnsemble(plan_)) {}

const RunFolder& EnsembleTarget::Folder() {
  if (!folder_) folder_ = session_.runs().Name(PrepareForTrials(plan_));
  return *folder_;
}

}  // namespace slipway::launcher
