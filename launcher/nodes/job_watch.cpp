#include "launcher/nodes/job_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/log.h"
#include "launcher/nodes/watch_protocol.h"

namespace slipway::launcher {
namespace {

using runtime::JobView;
using runtime::RankState;
using runtime::Sight;
using runtime::Waiting;

/// A node that does not answer is judged without; when it is gone, its connection tells.
constexpr auto kLookPatience = std::chrono::seconds(1);
/// Nodes are not seen in the same instant. Who holds the others up must do so in two looks.
constexpr auto kBetweenLooks = std::chrono::milliseconds(500);
/// Of a node that is frozen with hundreds of ranks.
constexpr std::size_t kMostReported = 32;

/// Changes when one of them moves.
std::string TextOf(const std::vector<Sight>& sights, const std::vector<int>& culprits) {
  std::string text;
  for (const int rank : culprits) {
    const auto& sight = sights.at(static_cast<std::size_t>(rank));
    text += fmt::format("{} {} {} {} {};", rank, static_cast<int>(sight.state), sight.current.activity,
                        sight.last.activity, sight.step);
  }
  return text;
}

/// Who cannot say for whom it waits is in MPI_Init, which tells nobody.
bool IsStart(const Waiting& waiting) { return waiting.missing.empty(); }

}  // namespace

std::optional<Waiting> SpeakerOf(const std::vector<Sight>& sights) {
  std::map<std::uint32_t, int> askers;
  for (const auto& sight : sights) ++askers[sight.asks.activity];
  askers.erase(0);
  const auto most = std::ranges::max_element(askers, {}, [](const auto& each) { return each.second; });
  if (most == askers.end()) return std::nullopt;
  const auto speaker = std::ranges::find(sights, most->first, [](const Sight& sight) { return sight.asks.activity; });
  return Waiting{speaker->rank, speaker->asks, speaker->waited_s, speaker->missing};
}

struct JobWatch::Node {
  std::string name;
  int first = 0;
  int ranks = 1;
  std::unique_ptr<MessageChannel> keeper;
  bool gone = false;
  int seen_in = 0;          ///< the number of the look
  std::vector<Sight> seen;  ///< of its ranks
};

JobWatch::JobWatch(EventLoop& loop, std::vector<WatchedNode> nodes, std::function<void(const Json&)> found)
    : loop_(loop), found_(std::move(found)) {
  int first = 0;
  for (auto& watched : nodes) {
    auto& node = *nodes_.emplace_back(std::make_unique<Node>());
    node.name = watched.name;
    node.first = std::exchange(first, first + watched.ranks);
    node.ranks = watched.ranks;
    node.keeper = std::make_unique<MessageChannel>(
        loop_, std::move(watched.keeper),
        MessageChannel::Events{[this, &node](std::string_view word, const Json& about) { Hear(node, word, about); },
                               [&node] { node.gone = true; }});
  }
}

JobWatch::~JobWatch() { StopTimer(); }

void JobWatch::StopTimer() {
  if (timer_) loop_.Cancel(*std::exchange(timer_, {}));
}

void JobWatch::Hear(Node& node, std::string_view word, const Json& about) {
  if (word == watch::kSeen) return TakeSeen(node, about);
  if (word == watch::kAsks && !timer_ && !over_) Look();
}

void JobWatch::Look() {
  looking_ = true;
  ++look_;
  for (const auto& node : nodes_) node->keeper->Say(watch::kLook, Json{{"look", look_}});
  timer_ = loop_.After(kLookPatience, [this] { Judge(); });
}

/// Only its own ranks are taken from a node, and what an earlier question asked for is too late.
void JobWatch::TakeSeen(Node& node, const Json& about) {
  if (!looking_ || about.at("look") != look_) return;
  node.seen.clear();
  for (const auto& json : about.at("ranks")) {
    auto sight = runtime::SightFromJson(json);
    if (sight.rank >= node.first && sight.rank < node.first + node.ranks) node.seen.push_back(std::move(sight));
  }
  node.seen_in = look_;
  if (AllSeen()) Judge();
}

bool JobWatch::AllSeen() const {
  return std::ranges::all_of(nodes_, [this](const auto& node) { return node->gone || node->seen_in == look_; });
}

/// Of all ranks, in their order.
std::vector<Sight> JobWatch::Sights() const {
  std::vector<Sight> sights;
  for (const auto& node : nodes_) {
    const bool seen = node->seen_in == look_;
    for (int rank = node->first; rank < node->first + node->ranks; ++rank) {
      sights.push_back({rank, {node->name, 0}, seen ? RankState::kAbsent : RankState::kUnknown});
    }
    if (!seen) continue;
    for (const auto& sight : node->seen) sights[static_cast<std::size_t>(sight.rank)] = sight;
  }
  return sights;
}

void JobWatch::Judge() {
  StopTimer();
  looking_ = false;
  auto sights = Sights();
  const auto waiting = SpeakerOf(sights);
  if (!waiting) {
    suspicion_.clear();
    return;
  }
  const JobView view(sights);
  const auto culprits = view.Culprits(*waiting);
  const bool seen = std::ranges::none_of(culprits, [&](int rank) { return view.Of(rank).Hidden(); });
  const auto text = TextOf(sights, culprits);
  if (seen && !culprits.empty() && std::exchange(suspicion_, text) == text) return Answer(view, *waiting, culprits);
  timer_ = loop_.After(kBetweenLooks, [this] { Look(); });
}

void JobWatch::Answer(const JobView& view, const Waiting& waiting, const std::vector<int>& culprits) {
  over_ = true;
  const auto verdict = view.Judge(waiting, culprits);
  log::Info("{}", verdict.message);
  Json ranks = Json::array();
  for (std::size_t i = 0; i < std::min(culprits.size(), kMostReported); ++i) {
    ranks.push_back(runtime::ReportOf(view.Of(culprits[i])));
  }
  const Json report{
      {"kind", IsStart(waiting) ? "start" : verdict.kind}, {"message", verdict.message}, {"ranks", std::move(ranks)}};
  for (const auto& node : nodes_) node->keeper->Say(watch::kAnswer, report);
  found_(report);
}

}  // namespace slipway::launcher
