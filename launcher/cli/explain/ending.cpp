#include "launcher/cli/explain/ending.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>

#include <algorithm>
#include <map>
#include <sstream>

namespace slipway::launcher {
namespace {

struct Advice {
  ExitStatus status;
  const char* text;
};

constexpr Advice kAdvice[] = {
    {{126, 0}, "the program cannot be executed there: look at its mode, and whether it is built for that machine"},
    {{127, 0},
     "the program, or one that it starts, is not found there: look at train.command, PATH and launch.modules"},
    {{0, SIGKILL},
     "somebody killed it, often the kernel for want of memory: raise launch.memory_per_rank, or let it take "
     "less (dmesg shows which)"},
    {{0, SIGBUS}, "shared memory that is not there: look at the size of /dev/shm (slipway doctor)"},
    {{0, SIGILL}, "the program is built for another processor than that node has"},
    {{0, SIGSEGV}, "the program has a fault of its own: run it under a debugger, or with ulimit -c unlimited"},
    {{0, SIGABRT}, "the program gave up by itself: what it printed says why"},
    {{0, SIGTERM}, "somebody asked it to end"},
    {{0, SIGXCPU}, "a limit of processor time: look at ulimit -t"},
};

/// What a job's end calls for, by its state.
const char* AdviceForJob(JobState state) {
  switch (state) {
    case JobState::kOutOfMemory: return "raise launch.memory_per_rank, or let the program take less";
    case JobState::kTimeout:
    case JobState::kDeadline: return "raise launch.time_limit, or set checkpoint.on_time_limit: requeue";
    case JobState::kNodeFail:
    case JobState::kBootFail: return "a node was at fault, not the run";
    case JobState::kPreempted: return "another QOS or partition may not be preempted";
    default: return "";
  }
}

// ---- what happened

/// "ranks 0 to 2", "rank 1", "ranks 0, 2".
std::string RankList(const std::vector<int>& ranks) {
  if (ranks.size() == 1) return fmt::format("rank {}", ranks.front());
  const bool in_a_row = ranks.back() - ranks.front() + 1 == static_cast<int>(ranks.size());
  if (in_a_row && ranks.size() > 2) return fmt::format("ranks {} to {}", ranks.front(), ranks.back());
  return fmt::format("ranks {}", fmt::join(ranks, ", "));
}

/// The reason has told how this one ended.
bool IsTold(const RunFacts& facts, const std::vector<int>& ranks) {
  return ranks.size() == 1 && facts.state.reason.starts_with(fmt::format("rank {} ", ranks.front()));
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
    explanation.because.push_back(fmt::format("{} other rank{} ended by Slipway, or with {} node", others,
                                              others == 1 ? " was" : "s were", others == 1 ? "its" : "their"));
  }
}

void AddJob(const SlurmJob& job, Explanation& explanation) {
  explanation.because.push_back(fmt::format("its job {} {}", job.id, InWords(job.state, job.flags)));
  if (!job.reason_text.empty()) explanation.because.push_back("in Slurm's words: " + job.reason_text);
  if (job.restarts > 0) explanation.because.push_back(fmt::format("Slurm had queued it again {} times", job.restarts));
  if (const std::string advice = AdviceForJob(job.state); !advice.empty()) explanation.next.push_back(advice);
}

/// Where no rank has written anything, as when staging failed, the manager has said more.
void AddDetail(const RunState& state, Explanation& explanation) {
  std::istringstream lines(state.detail);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line != state.reason) explanation.because.push_back("  " + line);
  }
}

bool Says(const RunFacts& facts, std::string_view words) { return facts.state.reason.find(words) != std::string::npos; }

bool EndedAtTimeLimit(const RunFacts& facts) { return Says(facts, "time limit"); }

// ---- what can be done

std::optional<ExitStatus> StatusOfCulprit(const RunFacts& facts) {
  for (const auto& end : facts.ends) {
    if (end.rank == facts.culprit) return end.status;
  }
  return {};
}

void AddAdvice(const RunFacts& facts, Explanation& explanation) {
  const auto status = StatusOfCulprit(facts);
  const auto advice = status ? AdviceFor(*status) : "";
  if (!advice.empty()) explanation.next.push_back(advice);
  if (EndedAtTimeLimit(facts)) {
    explanation.next.push_back(facts.goes_on_at_limit
                                   ? "write checkpoints more often (checkpoint.every), or raise launch.time_limit"
                                   : "raise launch.time_limit, or set checkpoint.on_time_limit: requeue");
  }
}

std::string Resume(const RunFacts& facts) {
  if (Says(facts, "max_failures")) {
    return fmt::format("go on although they failed: slipway resume {} --set ensemble.max_failures=N", facts.state.run);
  }
  if (Says(facts, "none of") && !facts.failures.empty()) {
    return fmt::format("when the cause is mended: slipway trials retry --failed {0} && slipway resume {0}",
                       facts.state.run);
  }
  const auto from = !facts.trials.empty() ? std::string("go on with the trials that are left")
                    : facts.checkpoint    ? fmt::format("go on from the checkpoint of step {}", *facts.checkpoint)
                                          : std::string("begin again");
  return fmt::format("{}: slipway resume {}", from, facts.state.run);
}

void AddCommands(const RunFacts& facts, Explanation& explanation) {
  if (facts.state.phase == Phase::kFailed && facts.trials.empty()) {
    const auto rank = facts.culprit ? fmt::format(" --rank {}", *facts.culprit) : "";
    explanation.next.push_back(fmt::format("read all of it: slipway logs {}{}", facts.state.run, rank));
  }
  if (facts.state.phase == Phase::kSucceeded && facts.state.reason.empty()) return;
  const bool has_said_how = Says(facts, "slipway resume --set") || Says(facts, "slipway trials retry");
  if (!has_said_how) explanation.next.push_back(Resume(facts));
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
  if (!facts.watch.empty() && facts.watch != state.reason) explanation.because.push_back(facts.watch);
  if (state.phase != Phase::kSucceeded) {
    AddRanks(facts, explanation);
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
