#include "launcher/run/ending/node_requeues.h"

#include <nlohmann/json.hpp>

#include "core/environment.h"
#include "core/error.h"
#include "core/lines.h"
#include "core/log.h"
#include "launcher/run_folder/end_cause.h"

namespace slipway::launcher {
namespace {

bool IsForLostNodes(const Json& requeue) {
  const auto kind = requeue.value("cause", Json());
  return kind == cause::NodeLost::kKind || kind == cause::NodesMissing::kKind || kind == cause::OutOfNodes::kKind;
}

bool HasProgressed(const Json& requeue) { return requeue.value("progressed", Json()) == true; }

bool IsForTimeLimitWithoutProgress(const Json& requeue) {
  return requeue.value("cause", Json()) == cause::JobTimeLimit::kKind && !HasProgressed(requeue);
}

/// The requeues of this job that count, from the last one with progress on.
int RequeuesIn(const RunFolder& folder, JobId job, bool (*counts)(const Json& requeue)) {
  int count = 0;
  folder.ForEachEvent([&](const Json& event) {
    if (event.value("event", Json()) != PhaseName(Phase::kQueued) || event.value("job", Json()) != job) return;
    if (HasProgressed(event)) count = 0;
    if (counts(event)) ++count;
  });
  return count;
}

/// For any reason.
bool WasQueuedAgain() { return ParseNumber<int>(Variable("SLURM_RESTART_COUNT")).value_or(0) > 0; }

}  // namespace

Json MembersOfRequeue(JobId job, const EndCause& ended, bool progressed) {
  return {{"job", job}, {"cause", KindOf(ended)}, {"progressed", progressed}};
}

int NodeRequeuesIn(const RunFolder& folder, JobId job) { return RequeuesIn(folder, job, IsForLostNodes); }

NodeRequeue MayGetOtherNodes(const RunFolder& folder, const Plan& plan, const RunState& state, bool progressed) try {
  if (!plan.spec().launch.slurm.requeue || state.batch_job == 0) return {};
  if (progressed) return {.allowed = true};
  const int made = NodeRequeuesIn(folder, state.batch_job);
  if (made < kMostNodeRequeues) return {.allowed = true};
  return {.allowed = false, .spent = made};
} catch (const Error& error) {  // the caller is about to say how the run ended
  log::Warn("the job is not queued again: {}", error.message());
  return {};
}

NodeRequeue MayGetMissingNodes(const RunFolder& folder, const Plan& plan, const RunState& state) {
  const auto& spec = plan.spec();
  const bool goes_on = spec.resilience.on_node_failure == OnNodeFailure::kExclude || spec.resilience.spare_nodes > 0 ||
                       spec.ensemble.has_value();
  return goes_on || WasQueuedAgain() ? MayGetOtherNodes(folder, plan, state, false) : NodeRequeue{};
}

bool MayStageAgain(const RunFolder& folder, JobId job) try {
  return RequeuesIn(folder, job, IsForTimeLimitWithoutProgress) == 0;
} catch (const Error& error) {
  log::Warn("the job is not queued again: {}", error.message());
  return false;
}

}  // namespace slipway::launcher
