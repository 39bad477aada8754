#include "launcher/cli/explain/ending.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "core/shell.h"
#include "core/text.h"
#include "ensemble/model/records.h"
#include "launcher/ranks/monitor/watch_report.h"
#include "launcher/run_folder/end_reason.h"

namespace slipway::launcher {
namespace {

// Of a shell, and of programs that start others.
constexpr int kExitNotExecutable = 126;
constexpr int kExitNotFound = 127;

struct Advice {
  ExitStatus status;
  const char* text;
};

constexpr Advice kAdvice[] = {
    {{kExitNotExecutable, 0},
     "the program is not executable there: check its mode, and whether it is built for that machine"},
    {{kExitNotFound, 0},
     "the program, or one that it starts, is not found there: check train.command, PATH and launch.modules"},
    {{0, SIGKILL},
     "killed by SIGKILL, most often by the kernel's OOM killer: check dmesg, raise launch.memory_per_rank"},
    {{0, SIGBUS}, "bus error: /dev/shm is probably full; run slipway doctor"},
    {{0, SIGILL}, "illegal instruction: the program is built for another processor than this node has"},
    {{0, SIGSEGV}, "the program crashed: run it under a debugger, or with ulimit -c unlimited"},
    {{0, SIGABRT}, "the program called abort(): see what it printed"},
    {{0, SIGTERM}, "another process asked it to end"},
    {{0, SIGXCPU}, "limit of processor time reached: check ulimit -t"},
    {{0, SIGXFSZ}, "limit of file sizes reached: check ulimit -f"},
};

// ---- what happened

/// "ranks 0 to 2", "rank 1", "ranks 0, 2".
std::string RankList(const std::vector<int>& ranks) {
  if (ranks.size() == 1) return fmt::format("rank {}", ranks.front());
  const bool in_a_row = ranks.back() - ranks.front() + 1 == static_cast<int>(ranks.size());
  if (in_a_row && ranks.size() > 2) return fmt::format("ranks {} to {}", ranks.front(), ranks.back());
  return fmt::format("ranks {}", fmt::join(ranks, ", "));
}

/// The reason of the run already names this rank's end. A report of the watch is about ranks that still ran.
bool IsTold(const RunFacts& facts, const std::vector<int>& ranks) {
  const auto& ended = facts.state.cause;
  return ranks.size() == 1 && ended && RankOf(*ended) == ranks.front() && !Is<cause::Watched>(ended);
}

/// Ranks that ended alike share a line. Those without a record were ended by others, or with their node.
void AddRanks(const RunFacts& facts, Explanation& explanation) {
  std::map<std::string, std::vector<int>> by_end;
  for (const auto& end : facts.ends) by_end[end.status.Describe()].push_back(end.rank);
  for (const auto& [end, ranks] : by_end) {
    if (IsTold(facts, ranks)) continue;
    explanation.because.push_back(
        fmt::format("{} ended by {} with {}", RankList(ranks), ranks.size() == 1 ? "itself" : "themselves", end));
  }
  const auto others = facts.ranks - static_cast<int>(facts.ends.size());
  if (!facts.ends.empty() && others > 0) {
    const auto by = Is<cause::RankLeft>(facts.state.cause)
                        ? std::string("the MPI launcher")
                        : fmt::format("Slipway, or with {} node", others == 1 ? "its" : "their");
    explanation.because.push_back(
        fmt::format("{} other rank{} ended by {}", others, others == 1 ? " was" : "s were", by));
  }
}

void AddJob(const SlurmJob& job, Explanation& explanation) {
  explanation.because.push_back(fmt::format("its job {} {}", job.id, InWords(job.state, job.flags)));
  if (!job.reason_text.empty()) explanation.because.push_back("in Slurm's words: " + job.reason_text);
  if (job.restarts > 0) explanation.because.push_back(fmt::format("Slurm had queued it again {} times", job.restarts));
}

/// No rank's log would say more.
void AddSilence(const RunFacts& facts, Explanation& explanation) {
  const auto rank = facts.culprit.value_or(0);
  const auto status = facts.state.cause && Is<cause::RankFailed>(facts.state.cause)
                          ? std::get<cause::RankFailed>(*facts.state.cause).status
                          : ExitStatus();
  const auto whose = status.signal == 0 ? fmt::format("; {} is the program's own", status.Describe()) : std::string();
  switch (facts.silent) {
    case RunFacts::Silent::kNone: return;
    case RunFacts::Silent::kCulprit: return explanation.because.push_back(fmt::format("rank {} wrote nothing", rank));
    case RunFacts::Silent::kAll: break;
  }
  explanation.because.push_back((facts.ranks == 1 ? "the program" : "the ranks") + (" wrote nothing" + whose));
}

/// Where no rank has written anything, as when staging failed, the manager has said more.
void AddDetail(const RunState& state, Explanation& explanation) {
  for (const auto& line : LinesOf(state.detail)) {
    if (!line.empty() && line != state.reason) explanation.because.push_back("  " + line);
  }
}

// ---- what can be done

std::string OnTimeLimit(const RunFacts& facts) {
  return facts.goes_on_at_limit ? "write checkpoints more often (checkpoint.every), or raise launch.time_limit"
                                : "raise launch.time_limit, or set checkpoint.on_time_limit: requeue";
}

constexpr const char* kNodeAtFault = "a node was at fault, not the run";
constexpr const char* kMoreMemory = "raise launch.memory_per_rank, or let the program take less";
constexpr const char* kOtherQueue = "another QOS or partition may not be preempted";

/// What a job's end calls for, by its state.
std::string OnJob(JobState state, const RunFacts& facts) {
  switch (state) {
    case JobState::kOutOfMemory: return kMoreMemory;
    case JobState::kTimeout:
    case JobState::kDeadline: return OnTimeLimit(facts);
    case JobState::kNodeFail:
    case JobState::kBootFail: return kNodeAtFault;
    case JobState::kPreempted: return kOtherQueue;
    default: return "";
  }
}

/// A rank ended its loop before others.
bool SomeRankLeft(const cause::Watched& watched) { return FromWord<WatchKind>(watched.finding) == WatchKind::kLeft; }

/// What is to be mended before the run goes on; empty where nothing can be said in general.
struct WhatToMend {
  const RunFacts& facts;

  std::string operator()(const cause::RankFailed& failed) const { return AdviceFor(failed.status); }
  std::string operator()(const cause::RankLeft&) const {
    return fmt::format(
        "let every rank call MPI_Finalize before it ends; the MPI launcher's words: attempt-{}/launcher.log",
        facts.state.attempt);
  }
  std::string operator()(const cause::RankNotStarted& failed) const {
    if (!failed.interpreter.empty()) return "correct the first line of the script, or provide its interpreter there";
    return AdviceFor({failed.error == ENOENT ? kExitNotFound : kExitNotExecutable, 0});
  }
  std::string operator()(const cause::OutOfMemory&) const { return kMoreMemory; }
  std::string operator()(const cause::Watched& watched) const {
    if (!SomeRankLeft(watched)) return {};
    return "give all ranks the same number of steps; records that cannot be shared out evenly: data.NAME.remainder";
  }
  std::string operator()(const cause::NoProgress&) const {
    return "let it write checkpoints into SLIPWAY_CHECKPOINT_DIR before it ends with status 75";
  }
  std::string operator()(const cause::StartFailed&) const {
    return "see whether ranks can start here at all: slipway doctor";
  }
  std::string operator()(const cause::NodeLost&) const { return kNodeAtFault; }
  std::string operator()(const cause::NodesMissing&) const { return kNodeAtFault; }
  std::string operator()(const cause::TimeLimit&) const { return OnTimeLimit(facts); }
  std::string operator()(const cause::JobTimeLimit& limit) const {
    return limit.before_start && facts.goes_on_at_limit ? "raise launch.time_limit, or stage less data"
                                                        : OnTimeLimit(facts);
  }
  std::string operator()(const cause::JobEnded& ended) const {
    return StartsNoManager(ended)
               ? fmt::format("the nodes do not see slipway at {}: install it on a shared file system",
                             facts.slipway.string())
               : OnJob(ended.state, facts);
  }
  std::string operator()(const cause::JobWithoutOutput&) const {
    return "put the run folder on a file system that all nodes see: --runs-dir";
  }
  std::string operator()(const cause::JobPreempted&) const { return kOtherQueue; }
  std::string operator()(const cause::DiskFull&) const {
    return "free space there, or put the run folder elsewhere: --runs-dir";
  }
  std::string operator()(const cause::StagingFailed&) const {
    return "check the data and the tiers: slipway doctor, slipway stage ls";
  }
  std::string operator()(const cause::NoTrialCompleted& none) const {
    return none.pruned == 0 ? ""
                            : "if good trials were pruned too: loosen ensemble.scheduler, or change ensemble.space";
  }
  std::string operator()(const auto&) const { return {}; }

  /// All that the script starts is slipway.
  bool StartsNoManager(const cause::JobEnded& ended) const {
    const auto code = ended.status.code;
    return !facts.manager_began && ended.status.signal == 0 && (code == kExitNotFound || code == kExitNotExecutable);
  }
};

std::optional<ExitStatus> StatusOfCulprit(const RunFacts& facts) {
  for (const auto& end : facts.ends) {
    if (end.rank == facts.culprit) return end.status;
  }
  return {};
}

/// Slurm knows best, then the manager; one without a last word leaves the record of the rank.
void AddAdvice(const RunFacts& facts, Explanation& explanation) {
  const bool job_is_over = facts.job && facts.job->phase() == JobPhase::kOver;
  auto advice = job_is_over ? OnJob(facts.job->state, facts) : std::string();
  if (advice.empty() && facts.state.cause) advice = std::visit(WhatToMend{facts}, *facts.state.cause);
  const auto status = StatusOfCulprit(facts);
  if (advice.empty() && status) advice = AdviceFor(*status);
  if (!advice.empty()) explanation.next.push_back(std::move(advice));
}

/// How the run goes on; empty for one that has nothing left to do.
struct NextStep {
  const RunFacts& facts;

  const std::string& Run() const { return facts.selector; }

  std::string AfterMending() const {
    return fmt::format(
        "if it is in the program, correct it, then: slipway trials retry --failed {0} && slipway resume {0}", Run());
  }

  /// Of trials of which none is left to run.
  std::string Again(ensemble::Outcome outcome) const {
    return fmt::format("run them again: slipway trials retry --outcome {1} {0} && slipway resume {0}", Run(),
                       WordOf(outcome));
  }

  std::string operator()(const cause::Completed&) const { return {}; }
  std::string operator()(const cause::TooManyFailures&) const {
    return fmt::format("go on although they failed: slipway resume {} --set ensemble.max_failures=N", Run());
  }
  std::string operator()(const cause::NoTrialCompleted& none) const {
    if (!facts.failures.empty()) return AfterMending();
    if (none.pruned > 0) return Again(ensemble::Outcome::kPruned);
    return none.cancelled > 0 ? Again(ensemble::Outcome::kCancelled) : Resume();
  }
  std::string operator()(const cause::SameFailure&) const { return AfterMending(); }
  std::string operator()(const cause::OutOfTime& out) const {
    const auto more = SetMoreTime(out);
    return more.empty() ? Resume() : fmt::format("give it more time: slipway resume {} {}", Run(), more);
  }
  std::string operator()(const cause::ServingEnded&) const {
    return fmt::format("go on with the trials that are left: slipway trials serve {0}, or slipway resume {0}", Run());
  }
  std::string operator()(const cause::StepsFailed& steps) const {
    return fmt::format("see why: slipway logs {0}/{1}; correct it, then: slipway resume {0}", Run(), steps.step);
  }
  std::string operator()(const cause::ManagerElsewhere& owner) const {
    return "see what the run itself does: " + QuoteForShell({"slipway", "status", owner.folder});
  }
  std::string operator()(const cause::RankFailed&) const {
    return "if it is in the program, correct it and " + Resume();
  }
  std::string operator()(const cause::RankLeft&) const { return "then " + Resume(); }
  std::string operator()(const cause::Watched& watched) const {
    return (SomeRankLeft(watched) ? "then " : "") + Resume();
  }
  std::string operator()(const cause::RankNotStarted&) const { return "if not, " + Resume(); }
  std::string operator()(const auto&) const { return Resume(); }

  std::string Resume() const { return fmt::format("{}: slipway resume {}", From(), Run()); }

  std::string From() const {
    if (!facts.trials.empty()) return facts.trials_ended ? "go on" : "go on with the trials that are left";
    if (facts.checkpoint) return fmt::format("go on from the checkpoint of step {}", *facts.checkpoint);
    const bool has_none = facts.state.attempt > 0 && !facts.may_have_checkpoint;
    if (!has_none) return "begin again";
    return facts.has_files ? "start again (Slipway has no checkpoint; the program finds its files in work/ again)"
                           : "begin again at step 0 (no checkpoint was written)";
  }
};

/// Whether a mistake in the spec may have ended the run. `resume` goes on with the run's own copy of it.
struct MayBeOfTheSpec {
  const RunFacts& facts;

  bool operator()(const cause::RankFailed&) const { return true; }
  bool operator()(const cause::RankNotStarted&) const { return true; }
  bool operator()(const cause::SameFailure&) const { return true; }
  bool operator()(const cause::NoTrialCompleted& none) const { return !facts.failures.empty() || none.pruned > 0; }
  bool operator()(const cause::TooManyFailures&) const { return true; }
  bool operator()(const auto&) const { return false; }
};

void AddNewRun(const RunFacts& facts, Explanation& explanation) {
  if (!facts.state.cause || !std::visit(MayBeOfTheSpec{facts}, *facts.state.cause)) return;
  const auto spec = facts.spec_file.empty() ? std::string("SPEC") : QuoteForShell({facts.spec_file.string()});
  explanation.next.push_back("if the cause is in the spec, correct it and start anew: slipway run " + spec);
}

/// Ranks work in a folder of their own.
void AddUnfound(const RunFacts& facts, Explanation& explanation) {
  if (facts.unfound.empty()) return;
  const auto top = facts.unfound.begin()->string();
  explanation.next.push_back(
      fmt::format("'{}' lies beside the spec, not in the working directory: set launch.files: [{}] or launch.workdir: "
                  "spec",
                  facts.unfound.string(), top));
}

/// An option without a value, as of store_true, must not get one.
void AddBareFlags(const RunFacts& facts, Explanation& explanation) {
  if (facts.bare_flags.empty()) return;
  explanation.next.push_back(fmt::format("if {} takes no value, name it in train.flags: [{}]",
                                         facts.bare_flags.size() == 1 ? "--" + facts.bare_flags[0] : "an option",
                                         fmt::join(facts.bare_flags, ", ")));
}

/// `slipway logs` shows what ranks wrote.
void AddLogToRead(const RunFacts& facts, Explanation& explanation) {
  if (facts.state.phase != Phase::kFailed || !facts.trials.empty() || facts.log.lines.empty()) return;
  const auto command = facts.log.rank ? fmt::format("slipway logs {} --rank {}", facts.selector, *facts.log.rank)
                                      : "less " + QuoteForShell({facts.log.file.string()});
  explanation.next.push_back("read all of it: " + command);
}

void AddCommands(const RunFacts& facts, Explanation& explanation) {
  AddUnfound(facts, explanation);
  AddBareFlags(facts, explanation);
  AddLogToRead(facts, explanation);
  AddNewRun(facts, explanation);
  const NextStep how{facts};
  auto resume = facts.state.cause ? std::visit(how, *facts.state.cause) : how.Resume();
  if (!resume.empty()) explanation.next.push_back(std::move(resume));
}

std::string Headline(const RunState& state) {
  auto text = std::string(PhaseName(state.phase));
  if (!state.ended.empty()) text += " at " + state.ended;
  if (state.attempt > 1) text += fmt::format(" in attempt {}", state.attempt);
  return text;
}

}  // namespace

std::string AdviceFor(const ExitStatus& status) {
  const auto* const found =
      std::find_if(std::begin(kAdvice), std::end(kAdvice), [&](const Advice& each) { return each.status == status; });
  return found == std::end(kAdvice) ? "" : found->text;
}

void ExplainEnd(const RunFacts& facts, Explanation& explanation) {
  const auto& state = facts.state;
  explanation.headline = Headline(state);
  if (!state.reason.empty()) explanation.because.push_back(state.reason);
  if (!facts.watch.empty() && !Is<cause::Watched>(state.cause)) explanation.because.push_back(facts.watch);
  if (state.phase != Phase::kSucceeded) {
    AddRanks(facts, explanation);
    AddSilence(facts, explanation);
    if (facts.job && facts.job->phase() == JobPhase::kOver) AddJob(*facts.job, explanation);
    AddAdvice(facts, explanation);
    explanation.log = facts.log;
    if (facts.log.lines.empty()) AddDetail(state, explanation);
  }
  if (facts.unmatched && state.phase == Phase::kSucceeded) {
    AddUnmatched(*facts.unmatched, "", explanation);
    explanation.next.push_back("mend train.metrics.pattern and run it again: it has no metrics of this run");
  }
  AddCommands(facts, explanation);
}

}  // namespace slipway::launcher
