// What the watch shows the monitor and hears from it, with a test in the monitor's place.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "core/files.h"
#include "core/json.h"
#include "runtime/status.h"
#include "runtime/watch/status_table_transfer.h"
#include "runtime/watch/watch.h"
#include "tests/support/temp_directory.h"

namespace slipway::runtime {
namespace {

using std::chrono::milliseconds;
using testing::ContainsRegex;
using testing::HasSubstr;

/// The monitor's side of a socket to which ranks hand their boards.
class Monitor {
 public:
  Monitor() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path().string().copy(address.sun_path, sizeof address.sun_path - 1);
    ::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
    ::listen(listener_.get(), 8);
  }
  std::filesystem::path path() const { return directory_.path() / "monitor"; }
  ReceivedStatusTable Next() const {
    const UniqueFd visitor(::accept(listener_.get(), nullptr, nullptr));
    return ReceivedStatusTable::Receive(visitor.get()).value();
  }

 private:
  test::TempDirectory directory_;
  UniqueFd listener_{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
};

RankStatusRow& FirstLineOf(std::vector<RankStatusRow>& lines, const ReceivedStatusTable& board) {
  EXPECT_TRUE(board.Read(lines));
  return lines.front();
}

TEST(WatchWithAMonitor, ShowsARankFromTheBeginningOfItsInit) {
  const Monitor monitor;
  Watch watch({});
  watch.Announce(3, monitor.path());
  const auto board = monitor.Next();
  std::vector<RankStatusRow> lines;
  EXPECT_EQ(FirstLineOf(lines, board).rank, 3);
  EXPECT_EQ(lines.front().process, ::getpid());
  EXPECT_EQ(lines.front().current, static_cast<std::uint32_t>(Activity::kInit));
  EXPECT_TRUE(board.same_processes());
  watch.Entered();
  EXPECT_EQ(FirstLineOf(lines, board).current, 0u);
  EXPECT_EQ(lines.front().last, static_cast<std::uint32_t>(Activity::kInit));
}

TEST(WatchWithAMonitor, HandsTheBoardOfItsNodeInAndLeavesItsOwn) {
  const Monitor monitor;
  Watch watch({});
  watch.Announce(4, monitor.path());
  const auto own = monitor.Next();
  watch.Join(4, std::vector<RankPlace>(6, {"here", 1}), SharedMemory::Create(StatusTableBytes(2)), 2, 0);
  const auto whole = monitor.Next();
  std::vector<RankStatusRow> lines;
  EXPECT_EQ(FirstLineOf(lines, own).rank, -1);
  EXPECT_EQ(FirstLineOf(lines, whole).rank, 4);
  EXPECT_EQ(lines.size(), 2u);
}

/// Rank 0, alone on its node, waits for rank 1 elsewhere.
TEST(WatchWithAMonitor, AsksAndSaysWhatItIsAnswered) {
  const Monitor monitor;
  const test::TempDirectory attempt;
  Watch watch({milliseconds(300), attempt.path() / "watch.json"});
  watch.Announce(0, monitor.path());
  const auto board = monitor.Next();
  watch.Join(0, {{"here", ::getpid()}, {"there", 1}}, {}, 1, 0);
  watch.Entered();
  const Watch::Operation operation(watch, Activity::kAllreduce);
  std::vector<RankStatusRow> lines;
  std::string said;
  try {
    Watch::Patience patience(watch);
    for (int i = 0; i < 1000; ++i) {
      std::this_thread::sleep_for(milliseconds(5));
      patience.Check([] { return std::vector<int>{1}; });
      if (FirstLineOf(lines, board).asks == 0) continue;
      EXPECT_EQ(lines.front().asks, static_cast<std::uint32_t>(Activity::kAllreduce));
      EXPECT_EQ(lines.front().missing[0], 1 + 1);
      board.Answer(R"({"kind":"stalled","message":"it is rank 1","ranks":[{"rank":1}]})");
    }
  } catch (const PartedError& error) {
    said = error.what();
  }
  EXPECT_EQ(said, "it is rank 1");
  EXPECT_EQ(FirstLineOf(lines, board).asks, 0u);
  const auto report = Json::parse(ReadFile(attempt.path() / "watch.json"));
  EXPECT_EQ(report["message"], "it is rank 1");
  EXPECT_EQ(report["ranks"][0]["rank"], 1);
}

/// Rank 0, alone on its node, waits for rank 1 elsewhere, of which the monitor has heard.
class WatchOfADeparture : public testing::Test {
 protected:
  /// Rank 1 has done an allreduce, and is in slipway_finalize or has ended.
  static std::string Departure(RankState state) {
    RankStatus sight{1, {"there", 77}, state};
    const auto finalize = static_cast<std::uint32_t>(Activity::kFinalize);
    if (state == RankState::kRunning) sight.current = {finalize, NameOf(Activity::kFinalize)};
    sight.last = {static_cast<std::uint32_t>(Activity::kAllreduce), NameOf(Activity::kAllreduce)};
    sight.step = 5;
    return ToJson(sight).dump();
  }

  /// What rank 0 says within some seconds, in `activity`; "" when it says nothing.
  static std::string Waits(Activity activity, const std::vector<std::string>& departures) {
    const Monitor monitor;
    Watch watch({std::chrono::minutes(2), {}});
    watch.Announce(0, monitor.path());
    auto board = monitor.Next();
    watch.Join(0, {{"here", ::getpid()}, {"there", 77}}, {}, 1, 0);
    watch.Entered();
    const Watch::Operation operation(watch, activity);
    for (const auto& departure : departures) board.AddDeparture(departure);
    try {
      Watch::Patience patience(watch);
      for (int i = 0; i < 700; ++i) {
        std::this_thread::sleep_for(milliseconds(5));
        patience.Check([] { return std::vector<int>{1}; });
      }
    } catch (const PartedError& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(WatchOfADeparture, NamesARankOfAnotherNodeThatIsInFinalize) {
  const auto said = Waits(Activity::kAllreduce, {Departure(RankState::kRunning)});
  EXPECT_THAT(said, ContainsRegex("waited [2-9]\\.[0-9] s for slipway_allreduce: "));
  EXPECT_THAT(said,
              HasSubstr("rank 1 on host there (process 77) has ended its program and waits in slipway_finalize, "));
  EXPECT_THAT(said, HasSubstr(" in slipway_finalize, last completed slipway_allreduce at step 5"));
}

TEST_F(WatchOfADeparture, NamesARankOfAnotherNodeThatHasEnded) {
  EXPECT_THAT(Waits(Activity::kAllreduce, {"no JSON", Departure(RankState::kDead)}),
              HasSubstr("rank 1 on host there (process 77) is dead"));
}

/// All are on their way out.
TEST_F(WatchOfADeparture, SaysNothingInFinalizeItself) {
  EXPECT_EQ(Waits(Activity::kFinalize, {Departure(RankState::kRunning)}), "");
}

TEST_F(WatchOfADeparture, SaysNothingOfRanksThatNobodyHasSeenDepart) { EXPECT_EQ(Waits(Activity::kAllreduce, {}), ""); }

TEST(WatchWithAMonitor, DoesNotAskAnyMoreWhenTheOthersHaveCome) {
  const Monitor monitor;
  Watch watch({milliseconds(300), {}});
  watch.Announce(0, monitor.path());
  const auto board = monitor.Next();
  watch.Join(0, {{"here", ::getpid()}, {"there", 1}}, {}, 1, 0);
  std::vector<RankStatusRow> lines;
  {
    Watch::Patience patience(watch);
    for (int i = 0; i < 200 && FirstLineOf(lines, board).asks == 0; ++i) {
      std::this_thread::sleep_for(milliseconds(5));
      patience.Check([] { return std::vector<int>{1}; });
    }
    EXPECT_NE(FirstLineOf(lines, board).asks, 0u);
  }
  EXPECT_EQ(FirstLineOf(lines, board).asks, 0u);
}

}  // namespace
}  // namespace slipway::runtime
