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

}  // namespace

const Sight& JobView::Of(int rank) const {
  const bool known = rank >= 0 && static_cast<std::size_t>(rank) < sights_.size();
  return known ? sights_[static_cast<std::size_t>(rank)] : unknown_;
}

/// Then it is a victim, too, and may be gone since.
bool JobView::GaveUp(int rank) const { return Of(rank).gave_up.activity != 0; }

/// By itself: not a victim that has ended after it gave up.
bool JobView::IsDead(int rank) const { return Of(rank).state == RankState::kDead && !GaveUp(rank); }

bool JobView::MayWait(int rank) const {
  const auto& sight = Of(rank);
  return sight.Hidden() || GaveUp(rank) || (sight.current.activity != 0 && sight.state == RankState::kRunning);
}

bool JobView::MayBeElsewhere(const std::vector<int>& culprits) const {
  return std::ranges::any_of(sights_, &Sight::Hidden) &&
         std::ranges::all_of(culprits, [&](int rank) { return MayWait(rank); });
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
    for (const auto& sight : sights_) {
      if (!sight.Hidden() && sight.rank != waiting.rank) suspects.push_back(sight.rank);
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

/// Who has stopped one rank has stopped others with it, whether somebody waits for each of them or not.
std::vector<int> JobView::WithAllStopped(std::vector<int> culprits) const {
  const auto is_stopped = [&](int rank) { return Of(rank).state == RankState::kStopped; };
  if (std::ranges::none_of(culprits, is_stopped)) return culprits;
  for (const auto& sight : sights_) {
    if (is_stopped(sight.rank) && std::ranges::find(culprits, sight.rank) == culprits.end()) {
      culprits.push_back(sight.rank);
    }
  }
  return culprits;
}

/// All wait: then for one another, in calls that do not meet.
std::vector<int> JobView::InAnotherCall(const Waiting& waiting) const {
  const auto own = waiting.call.activity;
  const std::uint32_t compared = own >> 16 != 0 ? 0xffffffff : 0xffff;  // without a team, the call alone
  std::vector<int> ranks;
  for (const auto& sight : sights_) {
    const auto theirs = GaveUp(sight.rank) ? sight.gave_up.activity : sight.current.activity;
    const bool other = theirs != 0 && ((theirs ^ own) & compared) != 0;
    if (sight.rank != waiting.rank && other) ranks.push_back(sight.rank);
  }
  return ranks;
}

std::string JobView::Describe(int rank) const {
  const auto& sight = Of(rank);
  if (sight.place.host.empty()) return fmt::format("rank {}, which has perhaps not called slipway_init", rank);
  if (sight.state == RankState::kAbsent) {
    return fmt::format("rank {} on host {} has not called slipway_init", rank, sight.place.host);
  }
  auto text = fmt::format("rank {} on host {} (process {})", rank, sight.place.host, sight.place.process);
  if (sight.Hidden()) return text + " on another node, where it may itself wait for another rank";
  if (GaveUp(rank)) return text + fmt::format(" was in {} and has given up waiting", sight.gave_up.name);
  switch (sight.state) {
    case RankState::kDead: text += " is dead"; break;
    case RankState::kStopped: text += " is stopped (SIGSTOP)"; break;
    case RankState::kFinished: text += " has called slipway_finalize"; break;
    default: text += sight.current.activity == 0 ? " is outside of Slipway" : " is in " + sight.current.name;
  }
  if (sight.last.activity == 0) return text + ", has completed nothing yet";
  return text + fmt::format(", last completed {} at step {}", sight.last.name, sight.step);
}

Verdict JobView::Judge(const Waiting& waiting, const std::vector<int>& culprits) const {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(culprits.size(), kMostDescribed); ++i) texts.push_back(Describe(culprits[i]));
  if (culprits.size() > kMostDescribed) texts.push_back(fmt::format("{} more", culprits.size() - kMostDescribed));
  const bool any_dead = std::ranges::any_of(culprits, [&](int rank) { return IsDead(rank); });
  return {any_dead ? "dead" : "stalled",
          fmt::format("{} not come to {}, after {:.1f} s: {}",
                      culprits.size() == 1 ? "a rank has" : fmt::format("{} ranks have", culprits.size()),
                      waiting.call.name, waiting.seconds, fmt::join(texts, "; ")),
          culprits};
}

Json ReportOf(const Sight& sight) {
  const bool seen = !sight.Hidden() && sight.state != RankState::kAbsent;
  const bool idle = seen && sight.last.activity == 0;
  return Json{{"rank", sight.rank},
              {"host", sight.place.host},
              {"pid", sight.place.process},
              {"state", NameOf(sight.state)},
              {"last", idle ? NameOf(Activity::kNothing) : sight.last.name},
              {"step", seen ? Json(sight.step) : Json()}};
}

}  // namespace slipway::runtime
