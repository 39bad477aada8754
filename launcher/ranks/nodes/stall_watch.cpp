#include "launcher/ranks/nodes/stall_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/log.h"
#include "launcher/ranks/nodes/watch_protocol.h"

namespace slipway::launcher {
namespace {

using runtime::JobView;
using runtime::RankState;
using runtime::RankStatus;
using runtime::Waiting;

/// A node that does not answer is judged without; when it is gone, its connection tells.
constexpr auto kLookPatience = std::chrono::seconds(1);
/// Nodes are not seen in the same instant. Who holds the others up must do so in two looks.
constexpr auto kBetweenLooks = std::chrono::milliseconds(500);
/// While ranks in slipway_finalize wait for the work of others, perhaps for hours.
constexpr auto kBetweenLooksAtWork = std::chrono::seconds(3);
/// At the end of a large job all ranks depart. A rank that returned too early is among the first.
constexpr std::size_t kMostDepartures = 16;
/// Of a node that is frozen with hundreds of ranks.
constexpr std::size_t kMostReported = 32;

/// Changes when one of them moves.
std::string TextOf(const std::vector<RankStatus>& statuses, const std::vector<int>& culprits) {
  std::string text;
  for (const int rank : culprits) {
    const auto& status = statuses.at(static_cast<std::size_t>(rank));
    text += fmt::format("{} {} {} {} {};", rank, static_cast<int>(status.state), status.current.activity,
                        status.last.activity, status.step);
  }
  return text;
}

/// The speaker whose wait is to be judged. Ranks in slipway_finalize that wait for the work of others do not count.
std::optional<Waiting> ComplaintIn(std::vector<RankStatus> statuses, const JobView& view) {
  const auto waiting = SpeakerOf(statuses);
  if (!waiting || !view.WaitsForWork(*waiting, view.Culprits(*waiting))) return waiting;
  for (auto& status : statuses) {
    if (runtime::IsFinalize(status.asks.activity)) status.asks = {};
  }
  return SpeakerOf(statuses);
}

/// A rank that cannot name the ranks it waits for is in MPI_Init, which does not report them.
bool IsStart(const Waiting& waiting) { return waiting.missing.empty(); }

}  // namespace

std::optional<Waiting> SpeakerOf(const std::vector<RankStatus>& statuses) {
  std::map<std::uint32_t, int> askers;
  for (const auto& status : statuses) ++askers[status.asks.activity];
  askers.erase(0);
  const auto most = std::ranges::max_element(askers, {}, [](const auto& each) { return each.second; });
  if (most == askers.end()) return std::nullopt;
  const auto speaker =
      std::ranges::find(statuses, most->first, [](const RankStatus& status) { return status.asks.activity; });
  return Waiting{speaker->rank, speaker->asks, speaker->waited_s, speaker->missing};
}

struct StallWatch::Node {
  std::string name;
  int first = 0;
  int ranks = 1;
  std::function<void()> on_no_answer;
  std::unique_ptr<MessageChannel> monitor;
  bool gone = false;
  int seen_in = 0;               ///< the number of the look
  std::vector<RankStatus> seen;  ///< of its ranks
};

StallWatch::StallWatch(EventLoop& loop, std::vector<WatchedNode> nodes, std::function<void(const Json&)> found)
    : loop_(loop), found_(std::move(found)) {
  int first = 0;
  for (auto& watched : nodes) {
    auto& node = *nodes_.emplace_back(std::make_unique<Node>());
    node.name = watched.name;
    node.first = std::exchange(first, first + watched.ranks);
    node.ranks = watched.ranks;
    node.on_no_answer = std::move(watched.on_no_answer);
    node.monitor = std::make_unique<MessageChannel>(
        loop_, std::move(watched.monitor),
        MessageChannel::Events{[this, &node](std::string_view word, const Json& about) { Hear(node, word, about); },
                               [&node] { node.gone = true; }});
  }
}

StallWatch::~StallWatch() { StopTimer(); }

void StallWatch::StopTimer() {
  if (timer_) loop_.Cancel(*std::exchange(timer_, {}));
}

void StallWatch::Hear(Node& node, std::string_view word, const Json& about) {
  if (word == watch::kSeen) return TakeSeen(node, about);
  if (word == watch::kDeparted) return PassOnDepartures(node, about);
  if (word == watch::kAsks && !timer_ && !over_) Look();
}

void StallWatch::Look() {
  looking_ = true;
  ++look_;
  for (const auto& node : nodes_) node->monitor->Say(watch::kLook, Json{{"look", look_}});
  timer_ = loop_.After(kLookPatience, [this] { Judge(); });
}

bool StallWatch::IsOf(const Node& node, int rank) { return rank >= node.first && rank < node.first + node.ranks; }

/// Only its own ranks are taken from a node, and what an earlier question asked for is too late.
void StallWatch::TakeSeen(Node& node, const Json& about) {
  if (!looking_ || about.at("look") != look_) return;
  node.seen.clear();
  for (auto& status : runtime::RankStatusesFromJson(about.at("ranks"))) {
    if (IsOf(node, status.rank)) node.seen.push_back(std::move(status));
  }
  node.seen_in = look_;
  if (AllSeen()) Judge();
}

void StallWatch::PassOnDepartures(const Node& from, const Json& about) {
  Json ranks = Json::array();
  for (const auto& status : about.at("ranks")) {
    const int rank = status.at("rank").get<int>();
    if (IsOf(from, rank) && departures_++ < kMostDepartures) ranks.push_back(status);
  }
  if (ranks.empty()) return;
  const Json departed{{"ranks", std::move(ranks)}};
  for (const auto& node : nodes_) {
    if (node.get() != &from) node->monitor->Say(watch::kDeparted, departed);
  }
}

bool StallWatch::AllSeen() const {
  return std::ranges::all_of(nodes_, [this](const auto& node) { return node->gone || node->seen_in == look_; });
}

/// Of all ranks, in their order.
std::vector<RankStatus> StallWatch::RankStatuses() const {
  std::vector<RankStatus> statuses;
  for (const auto& node : nodes_) {
    const bool seen = node->seen_in == look_;
    for (int rank = node->first; rank < node->first + node->ranks; ++rank) {
      statuses.push_back({rank, {node->name, 0}, seen ? RankState::kAbsent : RankState::kUnknown});
    }
    if (!seen) continue;
    for (const auto& status : node->seen) statuses[static_cast<std::size_t>(status.rank)] = status;
  }
  return statuses;
}

void StallWatch::Judge() {
  StopTimer();
  looking_ = false;
  const auto statuses = RankStatuses();
  const JobView view(statuses);
  const auto waiting = ComplaintIn(statuses, view);
  if (!waiting) {
    suspicion_.clear();
    if (SpeakerOf(statuses)) timer_ = loop_.After(kBetweenLooksAtWork, [this] { Look(); });
    return;
  }
  const auto culprits = view.Culprits(*waiting);
  const bool seen = std::ranges::none_of(culprits, [&](int rank) { return view.Of(rank).Hidden(); });
  const auto text = TextOf(statuses, culprits);
  if (seen && !culprits.empty() && std::exchange(suspicion_, text) == text) return Answer(view, *waiting, culprits);
  TellOfNoAnswer(culprits);
  timer_ = loop_.After(kBetweenLooks, [this] { Look(); });
}

void StallWatch::TellOfNoAnswer(const std::vector<int>& culprits) const {
  for (const auto& node : nodes_) {
    const bool is_late = !node->gone && node->seen_in != look_;
    if (is_late && std::ranges::any_of(culprits, [&](int rank) { return IsOf(*node, rank); })) node->on_no_answer();
  }
}

void StallWatch::Answer(const JobView& view, const Waiting& waiting, const std::vector<int>& culprits) {
  over_ = true;
  const auto verdict = view.Judge(waiting, culprits);
  log::Info("{}", verdict.message);
  Json ranks = Json::array();
  for (std::size_t i = 0; i < std::min(culprits.size(), kMostReported); ++i) {
    ranks.push_back(runtime::ReportOf(view.Of(culprits[i])));
  }
  const Json report{
      {"kind", IsStart(waiting) ? "start" : verdict.kind}, {"message", verdict.message}, {"ranks", std::move(ranks)}};
  for (const auto& node : nodes_) node->monitor->Say(watch::kAnswer, report);
  found_(report);
}

}  // namespace slipway::launcher
