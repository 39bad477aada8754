// Ranks of several nodes on status tables of their own, and who is named when one of them does not come.

#include "launcher/ranks/nodes/stall_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "core/process.h"
#include "launcher/ranks/local/socket_pair.h"
#include "launcher/ranks/nodes/node_monitor.h"
#include "runtime/memory/shared_memory.h"
#include "tests/support/run_until.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

using runtime::Activity;
using runtime::RankStatusRow;
using runtime::StallReport;
using testing::HasSubstr;

constexpr auto kReducing = static_cast<std::uint32_t>(Activity::kAllreduce);

/// A process that does nothing until it is ended.
class Idle {
 public:
  Idle() : pid_(::fork()) {
    while (pid_ == 0) ::pause();
  }
  Idle(const Idle&) = delete;
  Idle& operator=(const Idle&) = delete;
  ~Idle() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }
  void Stop() const {
    ::kill(pid_, SIGSTOP);
    int status = 0;
    ::waitpid(pid_, &status, WUNTRACED);
  }

 private:
  pid_t pid_;
};

/// Two nodes with a rank and a keeper each, and their manager. Rank 0 is this process; rank 1 another.
class TwoNodes : public testing::Test {
 protected:
  TwoNodes() {
    std::vector<WatchedNode> watched;
    for (int node = 0; node < 2; ++node) {
      auto pair = MakeSocketPair();
      keepers_.push_back(std::make_unique<NodeMonitor>(loop_, Socket(node), std::move(pair.theirs)));
      watched.push_back({std::move(pair.ours), "n" + std::to_string(node), 1, [this, node] { late_.insert(node); }});
    }
    watch_ = std::make_unique<StallWatch>(loop_, std::move(watched), [this](const Json& report) { report_ = report; });
  }

  std::filesystem::path Socket(int node) const { return folder_.path() / std::to_string(node); }

  RankStatusRow& Bring(int rank, pid_t process) {
    boards_.push_back(runtime::SharedMemory::Create(runtime::StatusTableBytes(1)));
    auto& line = *reinterpret_cast<RankStatusRow*>(boards_.back().data());
    line.rank = rank;
    line.process = process;
    EXPECT_TRUE(runtime::SendStatusTable(Socket(rank), boards_.back().descriptor(), 1));
    return line;
  }

  /// Rank 0 waits for rank 1, and has done so for long.
  RankStatusRow& BringOneThatAsks() {
    auto& line = Bring(0, ::getpid());
    line.current = kReducing;
    line.missing[0] = 1 + 1;
    line.waited_ms = 3000;
    line.asks = kReducing;
    return line;
  }

  const StallReport& AnswerOn(std::size_t board) {
    return *reinterpret_cast<const StallReport*>(boards_[board].data() + sizeof(RankStatusRow));
  }

  /// The ranks of other nodes that the board was told of.
  std::string DeparturesOn(std::size_t board) {
    const auto* after_lines = boards_[board].data() + sizeof(RankStatusRow);
    const auto& departures = *reinterpret_cast<const runtime::TableDepartures*>(after_lines + sizeof(StallReport));
    return std::string(departures.Read());
  }

  /// Until there is a report, and no longer.
  void RunFor(std::chrono::milliseconds time) {
    test::RunUntil(
        loop_, [this] { return !report_.is_null(); }, time);
  }
  void RunUntilReport() { RunFor(std::chrono::seconds(30)); }
  /// Until rank 0 is told of departures on other nodes, and somewhat longer: one too many would follow.
  void RunUntilTold() {
    test::RunUntil(loop_, [this] { return !DeparturesOn(1).empty(); });
    RunFor(std::chrono::milliseconds(1500));
  }

  test::TempDirectory folder_;
  EventLoop loop_;
  std::vector<runtime::SharedMemory> boards_;
  std::vector<std::unique_ptr<NodeMonitor>> keepers_;
  std::unique_ptr<StallWatch> watch_;
  std::set<int> late_;  ///< nodes that have not answered in time
  Json report_;
};

TEST_F(TwoNodes, NameARankThatIsStopped) {
  const Idle idle;
  idle.Stop();
  auto& culprit = Bring(1, idle.pid());
  culprit.last = static_cast<std::uint32_t>(Activity::kBarrier);
  culprit.step = 7;
  BringOneThatAsks();
  RunUntilReport();
  ASSERT_TRUE(report_.is_object());
  EXPECT_EQ(report_["kind"], "stalled");
  EXPECT_EQ(report_["message"], "waited 3.0 s for slipway_allreduce: rank 1 on host " + HostName() + " (process " +
                                    std::to_string(idle.pid()) +
                                    ") is stopped (SIGSTOP), last completed slipway_barrier at step 7");
  EXPECT_EQ(report_["ranks"][0]["rank"], 1);
  EXPECT_EQ(report_["ranks"][0]["step"], 7);
}

TEST_F(TwoNodes, TellTheRankThatAsked) {
  const Idle idle;
  idle.Stop();
  Bring(1, idle.pid());
  BringOneThatAsks();
  RunUntilReport();
  test::RunUntil(loop_, [this] { return AnswerOn(1).length != 0; });
  const std::string text(AnswerOn(1).text.data(), AnswerOn(1).length);
  EXPECT_EQ(Json::parse(text), report_);
}

TEST_F(TwoNodes, TellOfARankThatReturnsEarly) {
  auto& early = Bring(1, ::getpid());
  early.current = static_cast<std::uint32_t>(Activity::kFinalize);
  early.step = 5;
  Bring(0, ::getpid()).current = kReducing;
  RunUntilTold();
  const auto told = DeparturesOn(1);
  ASSERT_EQ(std::ranges::count(told, '\n'), 1) << told;
  const auto status = runtime::RankStatusFromJson(Json::parse(told));
  EXPECT_EQ(status.rank, 1);
  EXPECT_EQ(status.step, 5);
  EXPECT_TRUE(status.HasDeparted());
  EXPECT_EQ(DeparturesOn(0), "");  // its own node sees it
  EXPECT_TRUE(report_.is_null());
}

TEST_F(TwoNodes, TellOfARankThatHasEnded) {
  {
    const Idle idle;
    Bring(1, idle.pid());
  }
  Bring(0, ::getpid()).current = kReducing;
  RunUntilTold();
  EXPECT_THAT(DeparturesOn(1), HasSubstr("\"dead\""));
}

/// All ranks were in slipway_finalize with it; or it waited for another one in vain.
TEST_F(TwoNodes, TellNothingOfRanksThatEndWell) {
  const Idle idle;
  Bring(1, idle.pid()).finished = 1;
  Bring(0, ::getpid()).gave_up = kReducing;
  RunFor(std::chrono::milliseconds(2500));
  EXPECT_EQ(DeparturesOn(0) + DeparturesOn(1), "");
}

TEST_F(TwoNodes, NameARankThatComputesForEver) {
  Bring(1, ::getpid());
  BringOneThatAsks();
  RunUntilReport();
  ASSERT_TRUE(report_.is_object());
  EXPECT_THAT(report_["message"].get<std::string>(), HasSubstr("is outside of Slipway, has completed nothing yet"));
}

/// In slipway_finalize ranks wait for the work of others, however long it takes.
TEST_F(TwoNodes, LetARankInFinalizeWaitForOneThatComputes) {
  auto& computes = Bring(1, ::getpid());
  auto& line = BringOneThatAsks();
  line.current = line.asks = static_cast<std::uint32_t>(Activity::kFinalize);
  RunFor(std::chrono::milliseconds(2500));
  EXPECT_TRUE(report_.is_null());
  computes.current = kReducing;
  RunUntilReport();
  ASSERT_TRUE(report_.is_object());
  EXPECT_THAT(report_["message"].get<std::string>(), HasSubstr("is in slipway_allreduce"));
}

TEST_F(TwoNodes, NameARankThatIsStoppedWhileAnotherIsInFinalize) {
  const Idle idle;
  idle.Stop();
  Bring(1, idle.pid());
  auto& line = BringOneThatAsks();
  line.current = line.asks = static_cast<std::uint32_t>(Activity::kFinalize);
  RunUntilReport();
  ASSERT_TRUE(report_.is_object());
  EXPECT_THAT(report_["message"].get<std::string>(), HasSubstr("is stopped (SIGSTOP)"));
}

TEST_F(TwoNodes, NameARankThatHasNotCalledInit) {
  BringOneThatAsks();
  RunUntilReport();
  ASSERT_TRUE(report_.is_object());
  EXPECT_THAT(report_["message"].get<std::string>(), HasSubstr("rank 1 on host n1 has not called slipway_init"));
}

/// In MPI_Init a rank does not know for whom it waits.
TEST_F(TwoNodes, NameARankThatHasNotComeToTheStart) {
  auto& line = Bring(0, ::getpid());
  line.current = line.asks = static_cast<std::uint32_t>(Activity::kInit);
  line.waited_ms = 15000;
  RunUntilReport();
  ASSERT_TRUE(report_.is_object());
  EXPECT_EQ(report_["kind"], "start");
  EXPECT_EQ(report_["message"], "waited 15.0 s for slipway_init: rank 1 on host n1 has not called slipway_init");
}

TEST_F(TwoNodes, NameNobodyWhenAllHaveComeToTheStart) {
  for (const int rank : {0, 1}) {
    auto& line = Bring(rank, ::getpid());
    line.current = line.asks = static_cast<std::uint32_t>(Activity::kInit);
  }
  RunFor(std::chrono::milliseconds(2500));
  EXPECT_TRUE(report_.is_null());
}

TEST_F(TwoNodes, SayNothingWhileNobodyAsks) {
  const Idle idle;
  idle.Stop();
  Bring(1, idle.pid());
  Bring(0, ::getpid()).current = kReducing;
  RunFor(std::chrono::milliseconds(1500));
  EXPECT_TRUE(report_.is_null());
}

/// It was late, not stuck: it moves between the two looks, and then nobody asks any more.
TEST_F(TwoNodes, SayNothingOfOneThatGoesOn) {
  auto& late = Bring(1, ::getpid());
  auto& asker = BringOneThatAsks();
  const auto until = SystemClock().Steady() + std::chrono::milliseconds(1500);
  while (SystemClock().Steady() < until) {
    late.step = late.step + 1;
    loop_.RunOnce(std::chrono::milliseconds(20));
  }
  EXPECT_TRUE(report_.is_null());
  asker.asks = 0;
  RunFor(std::chrono::milliseconds(1500));
  EXPECT_TRUE(report_.is_null());
}

TEST_F(TwoNodes, DoNotAccuseRanksOfANodeThatDoesNotAnswer) {
  Bring(1, ::getpid());
  BringOneThatAsks();
  keepers_.pop_back();
  RunFor(std::chrono::milliseconds(2500));
  EXPECT_TRUE(report_.is_null());
  EXPECT_TRUE(late_.empty()) << "its stream has ended: it is gone, not late";
}

TEST_F(TwoNodes, TellOfANodeThatDoesNotAnswerInTime) {
  std::vector<WatchedNode> watched;
  auto first = MakeSocketPair(), second = MakeSocketPair();
  keepers_.clear();
  keepers_.push_back(std::make_unique<NodeMonitor>(loop_, Socket(0), std::move(first.theirs)));
  watched.push_back({std::move(first.ours), "n0", 1, [this] { late_.insert(0); }});
  watched.push_back({std::move(second.ours), "n1", 1, [this] { late_.insert(1); }});
  StallWatch watch(loop_, std::move(watched), [this](const Json& report) { report_ = report; });
  BringOneThatAsks();
  test::RunUntil(loop_, [this] { return !late_.empty(); });
  EXPECT_EQ(late_, std::set<int>{1});
  EXPECT_TRUE(report_.is_null());
}

/// The leader of a node shows all of its ranks, then its own page is empty.
TEST_F(TwoNodes, TakeTheNewestBoardOfARank) {
  Bring(1, ::getpid()).rank = -1;
  Bring(1, ::getpid()).current = kReducing;
  BringOneThatAsks();
  RunUntilReport();
  ASSERT_TRUE(report_.is_object());
  EXPECT_THAT(report_["message"].get<std::string>(), HasSubstr("is in slipway_allreduce"));
}

TEST_F(TwoNodes, AreNotDisturbedByAProgramThatTakesItsBoardAway) {
  const Idle idle;
  idle.Stop();
  Bring(1, idle.pid());
  BringOneThatAsks();
  ASSERT_EQ(::ftruncate(boards_.front().descriptor(), 0), 0);
  RunUntilReport();
  ASSERT_TRUE(report_.is_object());
  EXPECT_THAT(report_["message"].get<std::string>(), HasSubstr("rank 1 on host n1 has not called slipway_init"));
}

TEST(SpeakerOfAll, IsOneWhoIsWhereMostAre) {
  std::vector<runtime::RankStatus> statuses(3);
  for (int rank = 0; rank < 3; ++rank) {
    auto& status = statuses[static_cast<std::size_t>(rank)];
    status.rank = rank;
    status.asks = {rank == 0 ? 6u : 2u, "a call"};
  }
  EXPECT_EQ(SpeakerOf(statuses)->rank, 1);
  for (auto& status : statuses) status.asks = {};
  EXPECT_FALSE(SpeakerOf(statuses));
}

}  // namespace
}  // namespace slipway::launcher
