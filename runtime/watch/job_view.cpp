#include "runtime/watch/job_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>

namespace slipway::runtime {
namespace {

/// A node that is frozen may have hundreds of ranks.
constexpr std::size_t kMostDescribed = 8;

/// Of a rank that runs.
std::string WhereItIs(const SeenCall& current) {
  if (current.activity == 0) return " is outside of Slipway";
  return (IsFinalize(current.activity) ? " has ended its program and waits in " : " is in ") + current.name;
}

}  // namespace

const RankStatus& JobView::Of(int rank) const {
  const bool known = rank >= 0 && static_cast<std::size_t>(rank) < statuses_.size();
  return known ? statuses_[static_cast<std::size_t>(rank)] : unknown_;
}

/// Then it is a victim, too, and may be gone since.
bool JobView::GaveUp(int rank) const { return Of(rank).gave_up.activity != 0; }

/// By itself: not a victim that has ended after it gave up.
bool JobView::IsDead(int rank) const { return Of(rank).state == RankState::kDead && !GaveUp(rank); }

bool JobView::HasLeft(int rank) const {
  const auto& status = Of(rank);
  return status.state == RankState::kRunning && IsFinalize(status.current.activity) && !GaveUp(rank);
}

bool JobView::MayWait(int rank) const {
  const auto& status = Of(rank);
  const bool in_call = status.current.activity != 0 && status.state == RankState::kRunning;
  return status.Hidden() || GaveUp(rank) || (in_call && !status.awaits_gpu);
}

bool JobView::MayBeElsewhere(const std::vector<int>& culprits) const {
  return std::ranges::any_of(statuses_, &RankStatus::Hidden) &&
         std::ranges::all_of(culprits, [&](int rank) { return MayWait(rank); });
}

bool JobView::WaitsForWork(const Waiting& waiting, const std::vector<int>& culprits) const {
  const auto computes = [&](int rank) {
    const auto& status = Of(rank);
    return status.state == RankState::kRunning && status.current.activity == 0 && !GaveUp(rank);
  };
  return IsFinalize(waiting.call.activity) && !culprits.empty() && std::ranges::all_of(culprits, computes);
}

bool JobView::IsFirstInFinalize(int rank) const {
  const auto first =
      std::ranges::find_if(statuses_, [](const RankStatus& status) { return IsFinalize(status.current.activity); });
  return first != statuses_.end() && first->rank == rank;
}

std::vector<int> JobView::WithThoseTheyWaitFor(std::vector<int> ranks) const {
  std::unordered_set<int> known(ranks.begin(), ranks.end());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (!MayWait(ranks[i])) continue;
    for (const int next : Of(ranks[i]).missing) {
      if (known.insert(next).second) ranks.push_back(next);
    }
  }
  return ranks;
}

/// Those we wait for may be waiting themselves. Then it is one that is dead, stopped, or in no operation, that holds
/// all up.
std::vector<int> JobView::Culprits(const Waiting& waiting) const {
  const auto waits = [&](int rank) { return MayWait(rank); };
  auto suspects = WithThoseTheyWaitFor(waiting.missing);
  std::erase(suspects, waiting.rank);
  if (std::ranges::all_of(suspects, waits)) {
    for (const auto& status : statuses_) {
      if (!status.Hidden() && status.rank != waiting.rank) suspects.push_back(status.rank);
    }
    std::ranges::sort(suspects);
    suspects.erase(std::ranges::unique(suspects).begin(), suspects.end());
  }
  const auto dead = [&](int rank) { return IsDead(rank); };
  const bool known = std::ranges::any_of(suspects, dead);
  std::erase_if(suspects, [&](int rank) { return known ? !dead(rank) : waits(rank); });
  if (suspects.empty()) suspects = InAnotherCall(waiting);
  return WithAllStopped(suspects.empty() ? waiting.missing : suspects);
}

/// Adds all other stopped ranks to a stopped culprit, even if no rank waits for them: most likely they were stopped
/// together.
std::vector<int> JobView::WithAllStopped(std::vector<int> culprits) const {
  const auto is_stopped = [&](int rank) { return Of(rank).state == RankState::kStopped; };
  if (std::ranges::none_of(culprits, is_stopped)) return culprits;
  for (const auto& status : statuses_) {
    if (is_stopped(status.rank) && std::ranges::find(culprits, status.rank) == culprits.end()) {
      culprits.push_back(status.rank);
    }
  }
  return culprits;
}

/// All wait: then for one another, in calls that do not meet.
std::vector<int> JobView::InAnotherCall(const Waiting& waiting) const {
  const auto own = waiting.call.activity;
  const std::uint32_t compared = own >> 16 != 0 ? 0xffffffff : 0xffff;  // without a team, the call alone
  std::vector<int> ranks;
  for (const auto& status : statuses_) {
    const auto theirs = GaveUp(status.rank) ? status.gave_up.activity : status.current.activity;
    const bool other = theirs != 0 && ((theirs ^ own) & compared) != 0;
    if (status.rank != waiting.rank && other) ranks.push_back(status.rank);
  }
  return ranks;
}

std::string JobView::Describe(int rank) const {
  const auto& status = Of(rank);
  if (status.place.host.empty()) return fmt::format("rank {}, which has perhaps not called slipway_init", rank);
  if (status.state == RankState::kAbsent) {
    return fmt::format("rank {} on host {} has not called slipway_init", rank, status.place.host);
  }
  auto text = fmt::format("rank {} on host {} (process {})", rank, status.place.host, status.place.process);
  if (status.Hidden()) return text + " on another node, where it may itself wait for another rank";
  if (GaveUp(rank)) return text + fmt::format(" was in {} and has given up waiting", status.gave_up.name);
  switch (status.state) {
    case RankState::kDead: text += " is dead"; break;
    case RankState::kStopped: text += " is stopped (SIGSTOP)"; break;
    case RankState::kFinished: text += " has called slipway_finalize"; break;
    default: text += WhereItIs(status.current);
  }
  if (status.state == RankState::kRunning && status.awaits_gpu) text += " and waits for its GPU";
  if (status.last.activity == 0) return text + ", has completed nothing yet";
  return text + fmt::format(", last completed {} at step {}", status.last.name, status.step);
}

std::string JobView::DescribeAll(const std::vector<int>& ranks) const {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(ranks.size(), kMostDescribed); ++i) texts.push_back(Describe(ranks[i]));
  if (ranks.size() > kMostDescribed) texts.push_back(fmt::format("{} more", ranks.size() - kMostDescribed));
  return fmt::format("{}", fmt::join(texts, "; "));
}

Verdict JobView::Judge(const Waiting& waiting, const std::vector<int>& culprits) const {
  const bool any_dead = std::ranges::any_of(culprits, [&](int rank) { return IsDead(rank); });
  const bool all_left = !culprits.empty() && std::ranges::all_of(culprits, [&](int rank) { return HasLeft(rank); });
  const auto* const kind = any_dead ? "dead" : all_left ? "left" : "stalled";
  return {kind, fmt::format("waited {:.1f} s for {}: {}", waiting.seconds, waiting.call.name, DescribeAll(culprits)),
          culprits};
}

Json ReportOf(const RankStatus& status) {
  const bool seen = !status.Hidden() && status.state != RankState::kAbsent;
  const bool idle = seen && status.last.activity == 0;
  return Json{{"rank", status.rank},
              {"host", status.place.host},
              {"pid", status.place.process},
              {"state", WordOf(status.state)},
              {"last", idle ? NameOf(Activity::kNothing) : status.last.name},
              {"step", seen ? Json(status.step) : Json()}};
}

}  // namespace slipway::runtime
