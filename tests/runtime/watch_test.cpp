// Whom the watch takes for lost, with real processes in the places of the other ranks.

#include "runtime/watch/watch.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/files.h"
#include "core/json.h"
#include "runtime/status.h"
#include "tests/support/temp_directory.h"

namespace slipway::runtime {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

/// A process that does nothing until it is ended.
pid_t StartProcess() {
  const pid_t child = ::fork();
  if (child == 0) {
    while (true) ::pause();
  }
  return child;
}

void EndProcess(pid_t process) {
  ::kill(process, SIGKILL);
  ::waitpid(process, nullptr, 0);
}

/// This process is rank 0 of three; ranks 1 and 2 are processes on the same board.
class Watching : public testing::Test {
 protected:
  explicit Watching(const std::vector<RankPlace>& elsewhere = {})
      : report_(directory_.path() / "watch.json"),
        memory_(SharedMemory::Create(3 * sizeof(BoardLine))),
        watch_({milliseconds(1500), report_}) {
    lines_ = reinterpret_cast<BoardLine*>(memory_.data());
    for (int rank = 1; rank < 3; ++rank) {
      processes_.push_back(StartProcess());
      lines_[rank].rank = rank;
      lines_[rank].process = processes_.back();
    }
    std::vector<RankPlace> places{{"here", ::getpid()}, {"here", processes_[0]}, {"here", processes_[1]}};
    places.insert(places.end(), elsewhere.begin(), elsewhere.end());
    watch_.Join(0, std::move(places), std::move(memory_), 3, 0);
  }
  ~Watching() override {
    for (const auto process : processes_) EndProcess(process);
  }

  void End(int rank) { EndProcess(std::exchange(processes_[static_cast<std::size_t>(rank - 1)], StartProcess())); }

  /// What is said when `missing` do not come in `longest`; "" when nothing is.
  std::string WaitFor(const std::vector<int>& missing, milliseconds longest) {
    const Watch::Operation operation(watch_, Activity::kAllreduce);
    auto patience = watch_.StartWaiting();
    const auto start = Clock::now();
    try {
      while (Clock::now() - start < longest) {
        std::this_thread::sleep_for(milliseconds(5));
        patience.Check([&] { return missing; });
      }
      return "";
    } catch (const PartedError& error) {
      return error.what();
    }
  }

  test::TempDirectory directory_;
  std::filesystem::path report_;
  SharedMemory memory_;
  Watch watch_;
  BoardLine* lines_ = nullptr;
  std::vector<pid_t> processes_;
};

void ExpectWords(const std::string& message, const std::string& words) {
  EXPECT_NE(message.find(words), std::string::npos) << message;
}

TEST_F(Watching, NamesADeadRankInLessThanASecond) {
  End(2);
  const auto message = WaitFor({1, 2}, milliseconds(1000));
  ExpectWords(message, "rank 2 on host here");
  ExpectWords(message, "is dead");
  EXPECT_EQ(message.find("rank 1"), std::string::npos) << message;
  EXPECT_EQ(lines_[0].gave_up, static_cast<std::uint32_t>(Activity::kAllreduce));
}

/// It has done its part, and what it sent is on its way while a third rank is slow.
TEST_F(Watching, DoesNotTakeOneForDeadThatHasLeft) {
  lines_[2].finished = 1;
  End(2);
  EXPECT_EQ(WaitFor({1, 2}, milliseconds(1000)), "");
}

TEST_F(Watching, DoesNotTakeOneForDeadThatItCannotLookAt) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto message = WaitFor({1, 2}, milliseconds(1000));
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(message, "");
}

/// Rank 1 waited for rank 2 as well, and has gone.
TEST_F(Watching, NamesTheCulpritAtOnceWhereAVictimHasGivenUp) {
  lines_[1].gave_up = static_cast<std::uint32_t>(Activity::kAllreduce);
  End(1);
  End(2);
  const auto message = WaitFor({1}, milliseconds(1000));
  ExpectWords(message, "a rank has not come");
  ExpectWords(message, "rank 2 on host here");
}

TEST_F(Watching, NamesTheOneThatIsInAnotherCallWhenAllWait) {
  lines_[1].current = static_cast<std::uint32_t>(Activity::kAllreduce);
  lines_[2].current = static_cast<std::uint32_t>(Activity::kBarrier);
  const auto message = WaitFor({1}, milliseconds(3000));
  ExpectWords(message, "rank 2 on host here");
  ExpectWords(message, "is in slipway_barrier");
  EXPECT_EQ(message.find("rank 1"), std::string::npos) << message;
}

TEST_F(Watching, NamesTheOneThatIsInNoCallWhenTimeIsUp) {
  lines_[1].current = static_cast<std::uint32_t>(Activity::kAllreduce);
  const auto message = WaitFor({1}, milliseconds(3000));
  ExpectWords(message, "after 1.5 s: rank 2 on host here");
  ExpectWords(message, "is outside of Slipway");
}

/// One more rank, on another node, which nobody here can see.
class WatchingNodes : public Watching {
 protected:
  WatchingNodes() : Watching({{"there", 1}}) {}
  void AllWait() {
    for (const int rank : {1, 2}) lines_[rank].current = static_cast<std::uint32_t>(Activity::kAllreduce);
  }
};

TEST_F(WatchingNodes, NamesTheOneOnItsNodeThatIsInNoCallRatherThanOneItCannotSee) {
  AllWait();
  lines_[1].current = 0;
  const auto message = WaitFor({3}, milliseconds(2500));
  ExpectWords(message, "rank 1 on host here");
  EXPECT_EQ(message.find("rank 3"), std::string::npos) << message;
}

TEST_F(WatchingNodes, LeavesTheFirstWordToThoseThatSeeMore) {
  AllWait();
  EXPECT_EQ(WaitFor({3}, milliseconds(2500)), "");
  ExpectWords(WaitFor({3}, milliseconds(4500)),
              "rank 3 on host there (process 1) on another node, where it may itself wait for another rank");
}

TEST_F(Watching, WithdrawsARemarkWhenTheProgramGoesOn) {
  watch_.Remark("not_finite", "tensor 'x' holds NaN", 0);
  EXPECT_EQ(Json::parse(ReadFile(report_))["kind"], "not_finite");
  watch_.Withdraw();
  EXPECT_FALSE(std::filesystem::exists(report_));
}

TEST_F(Watching, PutsAReportInThePlaceOfARemark) {
  watch_.Remark("not_finite", "tensor 'x' holds NaN", 0);
  watch_.Report("stalled", "rank 2 has not come", {2});
  EXPECT_EQ(Json::parse(ReadFile(report_))["kind"], "stalled");
  watch_.Withdraw();
  EXPECT_TRUE(std::filesystem::exists(report_));
}

/// With a whole job that a scheduler suspends, each rank stops; none has failed when it goes on.
TEST_F(Watching, DoesNotCountTheTimeInWhichItWasStopped) {
  const pid_t waiting = ::fork();
  if (waiting == 0) ::_exit(WaitFor({1, 2}, milliseconds(2500)).empty() ? 0 : 1);
  std::this_thread::sleep_for(milliseconds(100));
  ::kill(waiting, SIGSTOP);
  std::this_thread::sleep_for(milliseconds(2200));
  ::kill(waiting, SIGCONT);
  int status = -1;
  ASSERT_EQ(::waitpid(waiting, &status, 0), waiting);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace slipway::runtime
