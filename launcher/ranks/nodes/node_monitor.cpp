#include "launcher/ranks/nodes/node_monitor.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "core/process.h"
#include "launcher/ranks/nodes/watch_protocol.h"

namespace slipway::launcher {
namespace {

using runtime::RankState;
using runtime::RankStatus;
using runtime::RankStatusRow;

/// How soon a rank that asks is heard.
constexpr auto kMonitorInterval = std::chrono::milliseconds(250);
/// It asks the kernel for every rank of the node.
constexpr int kBeatsBetweenDepartures = 4;
/// One departed rank is enough to explain why others wait.
constexpr std::size_t kMostDeparturesHere = 8;
/// A program that hands in more has something else in mind.
constexpr std::size_t kMostTables = 4096;

RankStatus StatusHere(const RankStatusRow& line, const std::string& host, bool same_processes) {
  auto status = RankStatusOf(line, {host, line.process});
  // In a container the numbers of processes may be others than here.
  if (!same_processes && status.state != RankState::kFinished) status.state = RankState::kRunning;
  return status;
}

}  // namespace

NodeMonitor::NodeMonitor(EventLoop& loop, const std::filesystem::path& path, UniqueFd manager)
    : loop_(loop),
      host_(HostName()),
      listener_(loop, path, [this](UniqueFd visitor) { Welcome(std::move(visitor)); }),
      manager_(loop, std::move(manager),
               {[this](std::string_view word, const Json& about) { Hear(word, about); }, [this] { over_ = true; }}),
      beat_(loop.After(kMonitorInterval, [this] { Beat(); })) {}

NodeMonitor::~NodeMonitor() {
  loop_.Cancel(beat_);
  for (const auto& visitor : visitors_) loop_.Forget(visitor.get());
}

void NodeMonitor::Welcome(UniqueFd visitor) {
  if (visitors_.size() + tables_.size() >= kMostTables) return;
  const int fd = visitor.get();
  visitors_.push_back(std::move(visitor));
  loop_.OnReadable(fd, [this, fd] { Take(fd); });
}

void NodeMonitor::Take(int visitor) {
  loop_.Forget(visitor);
  if (auto table = runtime::ReceivedStatusTable::Receive(visitor)) tables_.push_back(std::move(*table));
  std::erase_if(visitors_, [&](const UniqueFd& each) { return each.get() == visitor; });
}

void NodeMonitor::Hear(std::string_view word, const Json& about) {
  if (word == watch::kLook) {
    manager_.Say(watch::kSeen, Json{{"look", about.at("look")}, {"ranks", ToJson(Look())}});
  } else if (word == watch::kAnswer) {
    for (const auto& table : tables_) table.Answer(JsonText(about));
  } else if (word == watch::kDeparted) {
    for (const auto& status : about.at("ranks")) {
      for (auto& table : tables_) table.AddDeparture(JsonText(status));
    }
  }
}

void NodeMonitor::Beat() {
  if (over_) return;
  beat_ = loop_.After(kMonitorInterval, [this] { Beat(); });
  if (++beats_ % kBeatsBetweenDepartures == 0) TellDepartures();
  std::vector<RankStatusRow> lines;
  const auto asks = [](const RankStatusRow& line) { return line.rank >= 0 && line.asks != 0; };
  for (const auto& table : tables_) {
    if (table.Read(lines) && std::ranges::any_of(lines, asks)) return manager_.Say(watch::kAsks, Json::object());
  }
}

/// Ranks of other nodes cannot see them.
void NodeMonitor::TellDepartures() {
  Json ranks = Json::array();
  for (const auto& status : Look()) {
    const bool is_news =
        status.HasDeparted() && departed_.size() < kMostDeparturesHere && departed_.insert(status.rank).second;
    if (is_news) ranks.push_back(ToJson(status));
  }
  if (!ranks.empty()) manager_.Say(watch::kDeparted, Json{{"ranks", std::move(ranks)}});
}

/// A rank whose program has begun again shows what it does now.
std::vector<RankStatus> NodeMonitor::Look() const {
  std::map<int, RankStatus> newest;
  std::vector<RankStatusRow> lines;
  for (const auto& table : tables_) {
    if (!table.Read(lines)) continue;
    for (const auto& line : lines) {
      if (line.rank >= 0) newest[line.rank] = StatusHere(line, host_, table.same_processes());
    }
  }
  std::vector<RankStatus> statuses;
  for (auto& [rank, status] : newest) statuses.push_back(std::move(status));
  return statuses;
}

}  // namespace slipway::launcher
