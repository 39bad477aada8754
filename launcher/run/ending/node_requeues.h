/// How often a run's job is queued again to replace lost nodes, or to go on with staging.
///
/// Slurm may give a dead node again before it notices the loss, so the number is limited. Requeues for other reasons
/// do not count, and progress resets the count.
#pragma once

#include "core/json.h"
#include "launcher/cluster/slurm_types.h"
#include "launcher/plan/plan.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// How often a job may be queued again for lost nodes without progress in between.
inline constexpr int kMostNodeRequeues = 5;

struct NodeRequeue {
  bool allowed = false;
  int spent = 0;  ///< the requeues that have used up kMostNodeRequeues; 0: they are not why it is not allowed
};

/// What the event `queued` of a manager says beside attempt and reason, for NodeRequeuesIn.
Json MembersOfRequeue(JobId job, const EndCause& ended, bool progressed);

/// The requeues of this job for lost nodes since the last progress. Errors and cost: as RunFolder::ForEachEvent.
int NodeRequeuesIn(const RunFolder& folder, JobId job);

/// Whether Slurm may requeue the run's job to replace lost nodes. The run must own its job, and the spec must allow it.
/// `progressed`: the run wrote a checkpoint, or ended a trial, since this manager began. Where events.jsonl cannot be
/// read it may not, and the log says so. Cost: reads events.jsonl.
NodeRequeue MayGetOtherNodes(const RunFolder& folder, const Plan& plan, const RunState& state, bool progressed);

/// The same for nodes whose agents never started. A job that never had its nodes may never get them. So either the run
/// must be able to continue without some nodes, or its job must have been requeued before.
NodeRequeue MayGetMissingNodes(const RunFolder& folder, const Plan& plan, const RunState& state);

/// Whether a run whose time limit came before its ranks began may be queued again: once without progress. What is
/// staged in a shared tier stays, and a second job may have it all; on nodes it may be too much for any job. Where
/// events.jsonl cannot be read it may not, and the log says so. Cost: reads events.jsonl.
bool MayStageAgain(const RunFolder& folder, JobId job);

}  // namespace slipway::launcher
