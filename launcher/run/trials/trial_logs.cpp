#include "launcher/run/trials/trial_logs.h"

#include "core/clock.h"
#include "launcher/spec/spec.h"

namespace slipway::launcher {

TrialLogs::TrialLogs(const RunContext& context)
    : context_(context), wanted_(context.plan.spec().mllog && !TrialsAreJobs(context.plan.spec())) {}

TrialLogs::~TrialLogs() {
  for (auto& [number, open] : open_) open.log.StopRun(false, open.reason, open.left);
}

void TrialLogs::Prepare(const ensemble::TrialStart& start, const std::filesystem::path& folder) {
  if (!wanted_) return;
  const auto& spec = context_.plan.spec();
  if (const auto found = open_.find(start.trial); found != open_.end()) {
    found->second.attempt = start.attempt;
    return;
  }
  Instance instance;
  instance.number = start.trial;
  instance.nodes = spec.launch.nodes_per_job;
  instance.ranks = spec.launch.ranks();
  instance.parameters = EffectiveParameters(spec.train, WithSeedOfRepeat(spec.train, start.parameters, start.repeat));
  open_.try_emplace(start.trial, Open{InstanceLog(folder, context_.plan, instance, context_.output), start.attempt});
}

void TrialLogs::Release(ensemble::TrialNumber trial) {
  if (const auto found = open_.find(trial); found != open_.end()) found->second.log.StartRun(found->second.attempt);
}

void TrialLogs::AttemptEnded(const ensemble::TrialRecord& trial) {
  const auto found = open_.find(trial.number);
  if (found == open_.end()) return;
  auto& open = found->second;
  open.left = SystemClock().Now();
  open.reason = trial.reason.empty() ? WordOf(trial.state) : trial.reason;
  if (!ensemble::IsFinal(trial.state)) return;
  const bool complete = trial.state == ensemble::TrialState::kComplete;
  open.log.StopRun(complete, complete ? "" : open.reason, open.left);
  open_.erase(found);
}

}  // namespace slipway::launcher
