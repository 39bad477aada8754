#include "launcher/ranks/local/group_outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace slipway::launcher {
namespace {

/// A job that could not run has no rank to blame; its status says "environment" (3).
constexpr ExitStatus kCouldNotRun{3, 0};

ExitStatus StatusOf(const RankOutcome& rank) {
  if (rank.start_error != 0) return {rank.start_error == ENOENT ? 127 : 126, 0};
  return rank.status.value_or(ExitStatus{0, 9});
}

bool Failed(const RankOutcome& rank) { return !StatusOf(rank).Success(); }

/// The one seen first, else any that failed.
const RankOutcome* FirstFailed(const std::vector<RankOutcome>& ranks) {
  auto found = std::find_if(ranks.begin(), ranks.end(), [](const auto& rank) { return rank.ended_first; });
  if (found == ranks.end()) found = std::find_if(ranks.begin(), ranks.end(), Failed);
  return found == ranks.end() ? nullptr : &*found;
}

}  // namespace

const RankOutcome* LeftEarly(const std::vector<RankOutcome>& ranks, const RankOutcome& failed, ExitStatus launcher) {
  const bool was_killed = !failed.status && failed.start_error == 0 && failed.node_trouble.empty();
  const bool by_launcher = failed.asked ? *failed.asked != 0 : was_killed && !launcher.Success();
  if (!by_launcher) return nullptr;
  const auto left = std::ranges::find_if(
      ranks, [](const RankOutcome& rank) { return !rank.asked && rank.status && rank.status->Success(); });
  return left == ranks.end() ? nullptr : &*left;
}

std::string DescribeLeft(int rank, const std::string& host) {
  return fmt::format(
      "rank {} on {} ended with status 0 while other ranks ran, most likely before MPI_Finalize; the MPI launcher then "
      "ended them",
      rank, host);
}

std::string Describe(const RankOutcome& rank, const std::string& program) {
  if (!rank.interpreter.empty()) {
    return fmt::format("rank {} on {} could not start '{}': its interpreter '{}' is missing", rank.rank, rank.host,
                       program, rank.interpreter);
  }
  if (rank.start_error != 0) {
    return fmt::format("rank {} on {} could not start '{}': {}", rank.rank, rank.host, program,
                       std::strerror(rank.start_error));
  }
  if (!rank.node_trouble.empty()) return fmt::format("{}, and with it rank {}", rank.node_trouble, rank.rank);
  return fmt::format("rank {} on {} ended with {}", rank.rank, rank.host,
                     rank.status ? rank.status->Describe() : "its shim, which was killed");
}

namespace {

void BlameFor(const RankOutcome& failed, const GroupEnd& end, GroupOutcome& outcome) {
  outcome.status = StatusOf(failed);
  const auto* left = end.stopped ? nullptr : LeftEarly(end.ranks, failed, end.launcher);
  if (left != nullptr) {
    outcome.culprit = left->rank;
    if (!end.launcher.Success()) outcome.status = end.launcher;
    outcome.detail = DescribeLeft(left->rank, left->host);
    return;
  }
  outcome.culprit = failed.rank;
  outcome.requeue = outcome.status == ExitStatus{kRequeueStatus, 0};
  outcome.detail = Describe(failed, end.program);
}

}  // namespace

GroupOutcome Conclude(GroupEnd end) {
  GroupOutcome outcome;
  outcome.stopped = end.stopped;
  outcome.started = end.started;
  if (!end.trouble.empty()) {
    outcome.status = kCouldNotRun;
    outcome.detail = end.trouble;
  } else if (const auto* culprit = FirstFailed(end.ranks)) {
    BlameFor(*culprit, end, outcome);
    if (!culprit->node_trouble.empty()) outcome.lost_node = culprit->node;
  } else if (static_cast<int>(end.ranks.size()) < end.expected_ranks && !end.stopped) {
    outcome.status = end.launcher.Success() ? kCouldNotRun : end.launcher;
    outcome.detail = fmt::format("only {} of {} ranks started; the launcher ended with {}", end.ranks.size(),
                                 end.expected_ranks, end.launcher.Describe());
  }
  outcome.ranks = std::move(end.ranks);
  outcome.program = std::move(end.program);
  return outcome;
}

const RankOutcome* CulpritOf(const GroupOutcome& outcome) {
  const auto found = std::ranges::find(outcome.ranks, outcome.culprit, &RankOutcome::rank);
  return found == outcome.ranks.end() ? nullptr : &*found;
}

}  // namespace slipway::launcher
