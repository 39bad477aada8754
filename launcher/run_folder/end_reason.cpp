#include "launcher/run_folder/end_reason.h"

#include <fmt/format.h>

#include "core/text.h"
#include "core/units.h"
#include "launcher/ranks/local/group_outcome.h"

namespace slipway::launcher {
namespace {

struct ReasonWriter {
  std::string_view run;

  std::string Resume() const { return fmt::format("; continue with: slipway resume {}", run); }

  /// Why a job does not go back into the queue that otherwise would.
  std::string NoMoreRequeues(int made) const {
    if (made == 0) return {};
    return fmt::format("; the job is not queued again: it was, {} times for lost nodes, and made no progress{}", made,
                       Resume());
  }

  static std::string AboutRank(int rank, const std::string& host, std::optional<ExitStatus> status) {
    RankOutcome outcome;
    outcome.rank = rank;
    outcome.host = host;
    outcome.status = status;
    return Describe(outcome, "");
  }

  std::string operator()(const cause::Completed&) const { return {}; }

  std::string operator()(const cause::Cancelled& cancelled) const {
    switch (cancelled.during) {
      case CancelledWhile::kCreated: return "cancelled before it began";
      case CancelledWhile::kSubmitting: return "cancelled by the user while it was being submitted";
      case CancelledWhile::kQueued: return "cancelled by the user before its job began";
      case CancelledWhile::kStaging: return "cancelled while staging";
      case CancelledWhile::kRunning: break;
    }
    return "cancelled by the user";
  }

  // ---- the ranks

  std::string operator()(const cause::RankFailed& failed) const {
    return AboutRank(failed.rank, failed.host, failed.status);
  }

  std::string operator()(const cause::RankLeft& left) const { return DescribeLeft(left.rank, left.host); }

  std::string operator()(const cause::RankNotStarted& failed) const {
    RankOutcome outcome;
    outcome.rank = failed.rank;
    outcome.host = failed.host;
    outcome.start_error = failed.error;
    outcome.interpreter = failed.interpreter;
    return Describe(outcome, failed.program);
  }

  std::string operator()(const cause::RankLost& lost) const { return AboutRank(lost.rank, lost.host, std::nullopt); }

  std::string operator()(const cause::OutOfMemory& killed) const {
    return fmt::format("rank {} on {} was killed by the kernel's OOM killer (SIGKILL)", killed.rank, killed.host);
  }

  std::string operator()(const cause::Watched& watched) const { return watched.message; }

  std::string operator()(const cause::NoProgress& stuck) const {
    return fmt::format(
        "{}; {} times in a row it asked to be started again and showed no progress: neither a checkpoint in "
        "SLIPWAY_CHECKPOINT_DIR nor a further step of its metrics",
        AboutRank(stuck.rank, stuck.host, stuck.status), stuck.turns);
  }

  std::string operator()(const cause::StartFailed& failed) const { return failed.message; }

  // ---- nodes, time, and what the batch system does

  std::string operator()(const cause::NodeLost& lost) const {
    auto text = lost.rank ? fmt::format("{}, and with it rank {}", lost.message, *lost.rank) : lost.message;
    if (lost.requeued) text += "; the job is queued again, and goes on from its newest checkpoint";
    return text + NoMoreRequeues(lost.requeues);
  }

  std::string operator()(const cause::NodesMissing& missing) const {
    return missing.message + (missing.requeued ? "; the job is queued again" : "") + NoMoreRequeues(missing.requeues);
  }

  std::string operator()(const cause::TimeLimit& limit) const {
    return fmt::format("time limit of {} reached", FormatDuration(Seconds(limit.seconds)));
  }

  std::string operator()(const cause::JobTimeLimit& limit) const {
    std::string text = "the time limit of its job was reached";
    if (limit.before_start)
      return text + " before its ranks began" + (limit.requeued ? "; the job is queued again" : "");
    if (limit.without_checkpoint) text += " before it had written a checkpoint to go on from";
    if (limit.requeued) text += "; the job is queued again and goes on from there";
    return text;
  }

  std::string operator()(const cause::JobEnded& ended) const {
    const auto status = ended.status.Success() ? "" : fmt::format(" ({})", ended.status.Describe());
    return fmt::format("job {} {}{}{}", ended.job, InWords(ended.state, {}), status, Resume());
  }

  std::string operator()(const cause::JobWithoutOutput& job) const {
    return fmt::format(
        "job {} could not begin: node {} cannot open '{}'; put the run folder on a file system that all nodes see "
        "(--runs-dir), and start it again",
        job.job, job.host, job.output);
  }

  std::string operator()(const cause::JobRemoved& job) const {
    return fmt::format("job {} was removed with scancel{}", job.job, Resume());
  }

  std::string operator()(const cause::JobRequeued& job) const {
    return fmt::format("Slurm has put job {} back into the queue", job.job);
  }

  std::string operator()(const cause::JobPreempted& job) const {
    return fmt::format("job {} was preempted by a job of higher priority{}", job.job, job.requeued ? "" : Resume());
  }

  std::string operator()(const cause::JobForgotten& job) const {
    return fmt::format("Slurm does not know job {} any more{}", job.job, Resume());
  }

  std::string operator()(const cause::RequeueRefused& refused) const {
    return fmt::format("job {} could not be queued again: {}{}", refused.job, refused.message, Resume());
  }

  std::string operator()(const cause::SubmissionRefused& refused) const { return refused.message; }

  std::string operator()(const cause::NotSubmitted& left) const {
    const auto why = left.doubt.empty() ? "" : fmt::format(" ({})", left.doubt);
    return fmt::format("it was not submitted{}; start it with: slipway resume {}", why, run);
  }

  // ---- the manager

  std::string operator()(const cause::ManagerLost& lost) const {
    return fmt::format("its manager (process {} on {}) is gone{}", lost.pid, lost.host, Resume());
  }

  std::string operator()(const cause::ManagerElsewhere& owner) const {
    const auto place = owner.folder.empty() ? std::string("another folder") : fmt::format("'{}'", owner.folder);
    return fmt::format("this is a copy of run {}, which is still active: its manager (process {}) owns {}", run,
                       owner.pid, place);
  }

  std::string operator()(const cause::DiskFull& full) const {
    return fmt::format("{}; free space there, then: slipway resume {}", full.message, run);
  }
  std::string operator()(const cause::StagingFailed& failed) const { return failed.message; }
  std::string operator()(const cause::ManagerFailed& failed) const { return failed.message; }

  // ---- ensembles

  std::string operator()(const cause::TooManyFailures& many) const {
    return fmt::format("{} trials failed, more than max_failures", many.failed);
  }

  std::string operator()(const cause::NoTrialCompleted& none) const {
    const auto all = none.failed + none.cancelled + none.pruned + none.paused;
    if (all == 0) return "no trial is complete";
    return fmt::format("none of {} is complete: {}", Counted(all, "trial"),
                       ListCounts({{none.failed, "failed"},
                                   {none.cancelled, "cancelled"},
                                   {none.pruned, "pruned"},
                                   {none.paused, "paused"}}));
  }

  /// What failed alike once will again. Resume goes on with the run's own copy of the spec.
  std::string operator()(const cause::SameFailure& same) const {
    return fmt::format(
        "{0}; no further trial began ('ensemble.stop_on_same_failure'); if the program is at fault, correct it, then: "
        "slipway trials retry --failed {1} && slipway resume {1}; if the spec is: slipway run SPEC",
        same.message, run);
  }

  std::string operator()(const cause::OutOfTime& out) const {
    const auto more = SetMoreTime(out);
    if (more.empty()) return "its time is used up" + Resume();
    return fmt::format("its time is used up; with more of it: slipway resume {} {}", run, more);
  }

  /// "a trial needs 2 nodes with 8 cores and 1 GPU each, and too few such nodes are left (3 queued); ..."
  std::string operator()(const cause::OutOfNodes& out) const {
    if (out.requeued) {
      return "too few nodes are left for a trial; the job is queued again, and goes on with the trials that wait";
    }
    auto text = out.nodes == 1 ? "a trial needs a node" : fmt::format("a trial needs {} nodes", out.nodes);
    text += " with " + Counted(out.cores, "core");
    if (out.gpus > 0) text += " and " + Counted(out.gpus, "GPU");
    text += out.nodes == 1 ? ", and no such node is left" : " each, and too few such nodes are left";
    text += fmt::format(" ({})",
                        ListCounts({{out.waiting, "queued"}, {out.paused, "paused"}, {out.not_begun, "not begun"}}));
    if (out.requeues > 0) return text + NoMoreRequeues(out.requeues);
    return text + fmt::format("; continue with other nodes: slipway resume {}", run);
  }

  std::string operator()(const cause::ServingEnded& ended) const {
    return fmt::format("served until {}; serve or resume it to go on",
                       ended.interrupted ? "it was asked to end" : "the other side ended");
  }

  std::string operator()(const cause::StepsFailed& steps) const {
    if (steps.failed == 1) return fmt::format("step '{}' has failed", steps.step);
    return fmt::format("{} have failed, '{}' first", Counted(steps.failed, "step"), steps.step);
  }
};

}  // namespace

std::string ListCounts(std::initializer_list<std::pair<std::int64_t, std::string_view>> counts) {
  std::string text;
  for (const auto& [count, word] : counts) {
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, word);
  }
  return text;
}

std::string SetMoreTime(const cause::OutOfTime& out) {
  std::string options;
  if (out.budget_time) options += "--set ensemble.budget.time=...";
  if (out.budget_node_hours)
    options += fmt::format("{}--set ensemble.budget.node_hours=...", options.empty() ? "" : " ");
  return options;
}

std::string ReasonFor(const EndCause& ended, std::string_view run) { return std::visit(ReasonWriter{run}, ended); }

}  // namespace slipway::launcher
