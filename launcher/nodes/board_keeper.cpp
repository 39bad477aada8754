#include "launcher/nodes/board_keeper.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/process.h"
#include "launcher/nodes/watch_protocol.h"

namespace slipway::launcher {
namespace {

using runtime::BoardLine;
using runtime::RankState;
using runtime::Sight;

/// How soon a rank that asks is heard.
constexpr auto kBoardBeat = std::chrono::milliseconds(250);
/// A program that hands in more has something else in mind.
constexpr std::size_t kMostBoards = 4096;

Sight SightHere(const BoardLine& line, const std::string& host, bool same_processes) {
  auto sight = SightOf(line, {host, line.process});
  // In a container the numbers of processes may be others than here.
  if (!same_processes && sight.state != RankState::kFinished) sight.state = RankState::kRunning;
  return sight;
}

}  // namespace

BoardKeeper::BoardKeeper(EventLoop& loop, const std::filesystem::path& path, UniqueFd manager)
    : loop_(loop),
      host_(HostName()),
      door_(loop, path, [this](UniqueFd visitor) { Welcome(std::move(visitor)); }),
      manager_(loop, std::move(manager),
               {[this](std::string_view word, const Json& about) { Hear(word, about); }, [this] { over_ = true; }}),
      beat_(loop.After(kBoardBeat, [this] { Beat(); })) {}

BoardKeeper::~BoardKeeper() {
  loop_.Cancel(beat_);
  for (const auto& visitor : visitors_) loop_.Forget(visitor.get());
}

void BoardKeeper::Welcome(UniqueFd visitor) {
  if (visitors_.size() + boards_.size() >= kMostBoards) return;
  const int fd = visitor.get();
  visitors_.push_back(std::move(visitor));
  loop_.OnReadable(fd, [this, fd] { Take(fd); });
}

void BoardKeeper::Take(int visitor) {
  loop_.Forget(visitor);
  if (auto board = runtime::HandedBoard::Receive(visitor)) boards_.push_back(std::move(*board));
  std::erase_if(visitors_, [&](const UniqueFd& each) { return each.get() == visitor; });
}

void BoardKeeper::Hear(std::string_view word, const Json& about) {
  if (word == watch::kLook) {
    Json ranks = Json::array();
    for (const auto& sight : Look()) ranks.push_back(ToJson(sight));
    manager_.Say(watch::kSeen, Json{{"look", about.at("look")}, {"ranks", std::move(ranks)}});
  } else if (word == watch::kAnswer) {
    for (const auto& board : boards_) board.Answer(about.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
}

void BoardKeeper::Beat() {
  if (over_) return;
  beat_ = loop_.After(kBoardBeat, [this] { Beat(); });
  std::vector<BoardLine> lines;
  const auto asks = [](const BoardLine& line) { return line.rank >= 0 && line.asks != 0; };
  for (const auto& board : boards_) {
    if (board.Read(lines) && std::ranges::any_of(lines, asks)) return manager_.Say(watch::kAsks, Json::object());
  }
}

/// A rank whose program has begun again shows what it does now.
std::vector<Sight> BoardKeeper::Look() const {
  std::map<int, Sight> newest;
  std::vector<BoardLine> lines;
  for (const auto& board : boards_) {
    if (!board.Read(lines)) continue;
    for (const auto& line : lines) {
      if (line.rank >= 0) newest[line.rank] = SightHere(line, host_, board.same_processes());
    }
  }
  std::vector<Sight> sights;
  for (auto& [rank, sight] : newest) sights.push_back(std::move(sight));
  return sights;
}

}  // namespace slipway::launcher
