// Whom the watch takes for lost, with real processes in the places of the other ranks.

#include "runtime/watch/watch.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/files.h"
#include "core/json.h"
#include "runtime/group/waiter.h"
#include "runtime/status.h"
#include "tests/support/temp_directory.h"
#include "tests/support/written_to_stderr.h"

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
  explicit Watching(const std::vector<RankPlace>& elsewhere = {}, milliseconds stall_after = milliseconds(1500))
      : report_(directory_.path() / "watch.json"),
        memory_(SharedMemory::Create(StatusTableBytes(3))),
        watch_({stall_after, report_}) {
    lines_ = reinterpret_cast<RankStatusRow*>(memory_.data());
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

  /// What is said about `missing`, however slow the machine is.
  std::string WaitForWord(const std::vector<int>& missing, Activity activity = Activity::kAllreduce) {
    return WaitFor(missing, std::chrono::minutes(1), activity);
  }

  /// What is said when `missing` do not come in `longest`; "" when nothing is.
  std::string WaitFor(const std::vector<int>& missing, milliseconds longest, Activity activity = Activity::kAllreduce) {
    const Watch::Operation operation(watch_, activity);
    Watch::Patience patience(watch_);
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

  /// At its first look after this process stops itself.
  bool IsPatientAfterAStop() {
    const Watch::Operation operation(watch_, Activity::kAllreduce);
    Watch::Patience patience(watch_);
    ::raise(SIGSTOP);
    try {
      patience.Check([] { return std::vector{1, 2}; });
      return true;
    } catch (const PartedError&) {
      return false;
    }
  }

  /// What is said when this rank's GPU needs `longest`.
  std::string WaitForGpu(milliseconds longest) {
    const Watch::Operation operation(watch_, Activity::kAllreduce);
    const Waiter waiter(watch_, Waiter::Manner::kBackground, true);
    const auto start = Clock::now();
    try {
      waiter.UntilGpu([&] { return Clock::now() - start > longest; });
      return "";
    } catch (const PartedError& error) {
      return error.what();
    }
  }

  test::TempDirectory directory_;
  std::filesystem::path report_;
  SharedMemory memory_;
  Watch watch_;
  RankStatusRow* lines_ = nullptr;
  std::vector<pid_t> processes_;
};

void ExpectWords(const std::string& message, const std::string& words) {
  EXPECT_NE(message.find(words), std::string::npos) << message;
}

/// "waited 1.5 s"; 0 when no time is told.
double SecondsSaidIn(const std::string& message) {
  const std::string before = "waited ";
  const auto at = message.find(before);
  return at == std::string::npos ? 0 : std::stod(message.substr(at + before.size()));
}

/// Whom this rank names has not been named for being late.
class WatchingForHours : public Watching {
 protected:
  WatchingForHours() : Watching({}, std::chrono::hours(1)) {}

  /// Two looks are enough. Between two checks no more than a second counts, however slow the machine is.
  static void ExpectNamedAtOnce(const std::string& message) {
    ExpectWords(message, "waited ");
    EXPECT_LT(SecondsSaidIn(message), 2.4) << message;
  }
};

TEST_F(WatchingForHours, NamesADeadRankAtOnce) {
  End(2);
  const auto message = WaitForWord({1, 2});
  ExpectNamedAtOnce(message);
  ExpectWords(message, "rank 2 on host here");
  ExpectWords(message, "is dead");
  EXPECT_EQ(message.find("rank 1"), std::string::npos) << message;
  EXPECT_EQ(lines_[0].gave_up, static_cast<std::uint32_t>(Activity::kAllreduce));
}

/// It may wait for that of rank 2 alone. Its work may take longer than a rank may be late.
TEST_F(Watching, WaitsForItsGpuWhileThoseItMayWaitForLive) {
  watch_.AddGpuPeers(std::vector{0, 2});
  End(1);
  lines_[2].current = static_cast<std::uint32_t>(Activity::kFinalize);
  EXPECT_EQ(WaitForGpu(milliseconds(2500)), "");
  lines_[2].current = 0;
  End(2);
  const auto message = WaitForGpu(std::chrono::minutes(1));
  ExpectWords(message, "rank 2 on host here");
  ExpectWords(message, "is dead");
}

/// One line for a wait, however long it is.
TEST_F(Watching, SaysThatItsGpuIsLateWhereItMayWaitForOthers) {
  watch_.AddGpuPeers(std::vector{1});
  const Watch::Operation operation(watch_, Activity::kCheckpoint);
  std::string text;
  {
    const test::WrittenToStderr written(directory_.path() / "stderr");
    Watch::Patience patience(watch_, Watch::Limit::kLoss);
    const auto wait = [&] {
      std::this_thread::sleep_for(milliseconds(20));
      patience.Check([&] { return watch_.GpuPeers(); });
    };
    const auto end = Clock::now() + std::chrono::minutes(1);
    while (written.Text().empty() && Clock::now() < end) wait();
    for (int more = 0; more < 20; ++more) wait();
    text = written.Text();
    EXPECT_EQ(lines_[0].awaits_gpu, 0u);
  }
  ExpectWords(text, "slipway: rank 0: a checkpoint call has waited ");
  EXPECT_GE(SecondsSaidIn(text), 1.5) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
}

TEST_F(Watching, SaysNothingOfAGpuThatWaitsForNoOther) {
  const test::WrittenToStderr written(directory_.path() / "stderr");
  EXPECT_EQ(WaitForGpu(milliseconds(2500)), "");
  EXPECT_EQ(written.Text(), "");
}

TEST_F(Watching, ShowsThatItWaitsForItsGpuAlone) {
  const Watch::Operation operation(watch_, Activity::kAllreduce);
  const auto& shown = lines_[0].awaits_gpu;
  std::uint32_t seen = 0;
  Waiter(watch_, Waiter::Manner::kBackground, true).UntilGpu([&] { return (seen = shown) != 0; });
  EXPECT_EQ(seen, static_cast<std::uint32_t>(Activity::kAllreduce));
  EXPECT_EQ(shown, 0u);
}

TEST_F(Watching, ShowsThatItWaitsForItsGpuAgainWhenTheWaitOfAnotherThreadHasEnded) {
  const Watch::Operation operation(watch_, Activity::kAllreduce);
  auto& shown = lines_[0].awaits_gpu;
  const Waiter waiter(watch_, Waiter::Manner::kBackground, true);
  const auto is_shown = [&] { return shown != 0; };
  const auto wait_beside = [&] {
    shown = 0;
    waiter.UntilGpu(is_shown);
  };
  bool ended = false;
  waiter.UntilGpu([&] {
    if (!shown || ended) return is_shown();
    std::thread(wait_beside).join();
    EXPECT_EQ(shown, 0u);
    ended = true;
    return false;
  });
  EXPECT_TRUE(ended);
}

/// A validation after the last exchange may take any time. One line for a wait, until a rank is stopped.
TEST_F(Watching, WaitsInFinalizeForRanksThatCompute) {
  lines_[2].current = static_cast<std::uint32_t>(Activity::kFinalize);
  const Watch::Operation operation(watch_, Activity::kFinalize);
  Watch::Patience patience(watch_);
  const auto wait = [&] {
    std::this_thread::sleep_for(milliseconds(20));
    patience.Check([] { return std::vector{1, 2}; });
  };
  const auto end = Clock::now() + std::chrono::minutes(1);
  std::string text;
  {
    const test::WrittenToStderr written(directory_.path() / "stderr");
    while (written.Text().empty() && Clock::now() < end) wait();
    for (int more = 0; more < 100; ++more) wait();
    text = written.Text();
  }
  ExpectWords(text, "slipway: rank 0: slipway_finalize has waited ");
  ExpectWords(text, " s for other ranks, and goes on: rank 1 on host here");
  EXPECT_EQ(text.find("rank 2"), std::string::npos) << text;
  EXPECT_GE(SecondsSaidIn(text), 1.5) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  ::kill(processes_[0], SIGSTOP);
  EXPECT_THROW(while (Clock::now() < end) wait(), PartedError);
  ExpectWords(Json::parse(ReadFile(report_))["message"].get<std::string>(), "is stopped (SIGSTOP)");
}

TEST_F(WatchingForHours, NamesInFinalizeARankThatDies) {
  End(1);
  const auto message = WaitForWord({1, 2}, Activity::kFinalize);
  ExpectNamedAtOnce(message);
  ExpectWords(message, "rank 1 on host here");
  ExpectWords(message, "is dead");
}

TEST_F(Watching, NamesInFinalizeARankThatWaitsInAnExchange) {
  lines_[1].current = static_cast<std::uint32_t>(Activity::kAllreduce);
  lines_[2].current = static_cast<std::uint32_t>(Activity::kFinalize);
  const auto message = WaitForWord({1, 2}, Activity::kFinalize);
  ExpectWords(message, " s for slipway_finalize: rank 1 on host here");
  ExpectWords(message, "is in slipway_allreduce");
}

/// It has done its part, and what it sent is on its way while a third rank is slow.
TEST_F(WatchingForHours, DoesNotTakeOneForDeadThatHasLeft) {
  lines_[2].finished = 1;
  End(2);
  EXPECT_EQ(WaitFor({1, 2}, milliseconds(1000)), "");
}

TEST_F(WatchingForHours, DoesNotTakeOneForDeadThatItCannotLookAt) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto message = WaitFor({1, 2}, milliseconds(1000));
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(message, "");
}

/// Rank 1 waited for rank 2 as well, and has gone.
TEST_F(WatchingForHours, NamesTheCulpritAtOnceWhereAVictimHasGivenUp) {
  lines_[1].gave_up = static_cast<std::uint32_t>(Activity::kAllreduce);
  End(1);
  End(2);
  const auto message = WaitForWord({1});
  ExpectNamedAtOnce(message);
  ExpectWords(message, "rank 2 on host here");
}

TEST_F(Watching, NamesTheOneThatIsInAnotherCallWhenAllWait) {
  lines_[1].current = static_cast<std::uint32_t>(Activity::kAllreduce);
  lines_[2].current = static_cast<std::uint32_t>(Activity::kBarrier);
  const auto message = WaitForWord({1});
  ExpectWords(message, "rank 2 on host here");
  ExpectWords(message, "is in slipway_barrier");
  EXPECT_EQ(message.find("rank 1"), std::string::npos) << message;
}

TEST_F(Watching, NamesTheOneThatIsInNoCallWhenTimeIsUp) {
  lines_[1].current = static_cast<std::uint32_t>(Activity::kAllreduce);
  const auto message = WaitForWord({1});
  ExpectWords(message, ": rank 2 on host here");
  ExpectWords(message, "is outside of Slipway");
  EXPECT_GE(SecondsSaidIn(message), 1.5) << message;
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
  const auto message = WaitForWord({3});
  ExpectWords(message, "rank 1 on host here");
  EXPECT_EQ(message.find("rank 3"), std::string::npos) << message;
}

TEST_F(WatchingNodes, LeavesTheFirstWordToThoseThatSeeMore) {
  AllWait();
  EXPECT_EQ(WaitFor({3}, milliseconds(2500)), "");
  ExpectWords(WaitForWord({3}),
              "rank 3 on host there (process 1) on another node, where it may itself wait for another rank");
}

/// The launcher of MPI ends the job when a rank of another node dies. A rank there that waits in an exchange names this
/// one.
TEST_F(WatchingNodes, WaitsInFinalizeForRanksThatItCannotSee) {
  for (const int rank : {1, 2}) lines_[rank].current = static_cast<std::uint32_t>(Activity::kFinalize);
  const Watch::Operation operation(watch_, Activity::kFinalize);
  Watch::Patience patience(watch_);
  const auto wait = [&] {
    std::this_thread::sleep_for(milliseconds(20));
    patience.Check([] { return std::vector{1, 2, 3}; });
  };
  const auto end = Clock::now() + std::chrono::minutes(1);
  std::string text;
  {
    const test::WrittenToStderr written(directory_.path() / "stderr");
    while (written.Text().empty() && Clock::now() < end) wait();
    for (int more = 0; more < 150; ++more) wait();
    text = written.Text();
  }
  ExpectWords(text, "and goes on: rank 3 on host there (process 1) on another node");
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
  if (waiting == 0) ::_exit(IsPatientAfterAStop() ? 0 : 1);
  int status = -1;
  ASSERT_EQ(::waitpid(waiting, &status, WUNTRACED), waiting);
  ASSERT_TRUE(WIFSTOPPED(status)) << status;
  std::this_thread::sleep_for(milliseconds(2200));
  ::kill(waiting, SIGCONT);
  ASSERT_EQ(::waitpid(waiting, &status, 0), waiting);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace slipway::runtime
