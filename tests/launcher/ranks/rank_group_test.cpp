// Real ranks: the shim, mpirun, exit codes, signals, and what they leave behind.

#include "launcher/engines/local/rank_group.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <cstdlib>
#include <optional>
#include <thread>

#include "core/error.h"
#include "core/files.h"
#include "tests/launcher/ranks/print_mpi.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {
namespace fs = std::filesystem;

using testing::HasSubstr;

class RankGroups : public testing::Test {
 protected:
  RankLaunch Launch(int ranks, std::vector<std::string> command) const {
    RankLaunch launch;
    launch.ranks = ranks;
    launch.command = std::move(command);
    launch.environment = Environment::Inherited();
    launch.working_directory = directory_.path();
    launch.log_directory = directory_.path();
    launch.grace = std::chrono::milliseconds(300);
    return launch;
  }
  RankLaunch Script(int ranks, const std::string& script) const { return Launch(ranks, {"sh", "-c", script}); }

  /// Runs the loop until `done` holds; fails the test after 20 s.
  template <class Condition>
  void Until(Condition done) {
    const auto deadline = SystemClock().Steady() + std::chrono::seconds(20);
    while (!done() && SystemClock().Steady() < deadline) loop_.RunOnce(std::chrono::milliseconds(50));
    ASSERT_TRUE(done());
  }

  GroupOutcome RunToTheEnd(RankLaunch launch) {
    std::optional<GroupOutcome> outcome;
    RankGroup group(loop_, std::move(launch), [&](const GroupOutcome& end) { outcome = end; });
    group.Release();
    Until([&] { return outcome.has_value(); });
    return outcome.value_or(GroupOutcome());
  }

  std::string Log(int rank) const {
    return ReadFileIfPresent(directory_ / ("rank-0000" + std::to_string(rank) + ".log")).value_or("");
  }

  test::TempDirectory directory_;
  EventLoop loop_;
};

TEST_F(RankGroups, RunOneRankAndKeepWhatItPrints) {
  const auto outcome = RunToTheEnd(Script(1, "echo out; echo err >&2; echo $RANK/$WORLD_SIZE/$LOCAL_RANK; pwd"));
  EXPECT_TRUE(outcome.status.Success()) << outcome.detail;
  EXPECT_EQ(Log(0), "out\nerr\n0/1/0\n" + directory_.path().string() + "\n");
  EXPECT_EQ(ReadFile(directory_ / "rank-00000.exit"), "0 0\n");
  struct stat info {};
  ASSERT_EQ(::stat((directory_ / "rank-00000.log").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0137, 0u);
}

TEST_F(RankGroups, PassEveryWordUnchanged) {
  const std::vector<std::string> words{"two words", "quote'\"", "$HOME `ls`", "line\nbreak", "", "-n"};
  auto command = std::vector<std::string>{"sh", "-c", "for w; do printf '%s|' \"$w\"; done", "sh"};
  command.insert(command.end(), words.begin(), words.end());
  for (const int ranks : {1, 2}) {
    RunToTheEnd(Launch(ranks, command));
    EXPECT_EQ(Log(ranks - 1).substr(0, Log(ranks - 1).find("-n|") + 3),
              "two words|quote'\"|$HOME `ls`|line\nbreak||-n|");
  }
}

/// With the mpirun of each MPI that is here.
class SeveralRanks : public RankGroups, public testing::WithParamInterface<Mpi> {
 protected:
  void SetUp() override {
    try {
      mpi_ = FindMpiLauncher(GetParam());
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  RankLaunch Script(int ranks, const std::string& script) const {
    auto launch = RankGroups::Script(ranks, script);
    launch.mpi = mpi_;
    return launch;
  }

  MpiLauncher mpi_;
};

INSTANTIATE_TEST_SUITE_P(Of, SeveralRanks, testing::Values(Mpi::kOpenMpi, Mpi::kMpich));

TEST_P(SeveralRanks, KnowTheirPlace) {
  const auto outcome = RunToTheEnd(Script(3, "echo $RANK of $WORLD_SIZE, $LOCAL_RANK here"));
  EXPECT_TRUE(outcome.status.Success()) << outcome.detail;
  ASSERT_EQ(outcome.ranks.size(), 3u);
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(Log(rank), fmt::format("{} of 3, {} here\n", rank, rank));
}

TEST_P(SeveralRanks, KnowTheirPlaceInsideTheJobOfAnotherMpi) {
  auto launch = Script(2, "echo $RANK of $WORLD_SIZE, $LOCAL_RANK here");
  for (const char* rank : {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "PMIX_RANK", "PMI_RANK",
                           "MPI_LOCALRANKID", "SLURM_PROCID", "SLURM_LOCALID"}) {
    launch.environment.Set(rank, "3");
  }
  for (const char* size : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"}) launch.environment.Set(size, "8");
  const auto outcome = RunToTheEnd(std::move(launch));
  EXPECT_TRUE(outcome.status.Success()) << outcome.detail;
  for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(Log(rank), fmt::format("{} of 2, {} here\n", rank, rank));
}

TEST_F(RankGroups, RunALoneRankAsALoneRankInsideAnotherJob) {
  auto launch = Script(1, "echo $RANK/$WORLD_SIZE/${OMPI_COMM_WORLD_SIZE-unset}");
  launch.environment.Set("OMPI_COMM_WORLD_RANK", "3").Set("OMPI_COMM_WORLD_SIZE", "8").Set("SLURM_NTASKS", "8");
  EXPECT_TRUE(RunToTheEnd(launch).status.Success());
  EXPECT_EQ(Log(0), "0/1/unset\n");
}

TEST_F(RankGroups, ReportExitCodesAndSignals) {
  EXPECT_EQ(RunToTheEnd(Script(1, "exit 7")).status, (ExitStatus{7, 0}));
  EXPECT_EQ(RunToTheEnd(Script(1, "kill -ABRT $$")).status, (ExitStatus{0, SIGABRT}));
  EXPECT_TRUE(RunToTheEnd(Script(1, "exit 75")).requeue);
}

TEST_F(RankGroups, NameAProgramThatDoesNotExist) {
  const auto outcome = RunToTheEnd(Launch(1, {"/no/such/program"}));
  EXPECT_EQ(outcome.status.code, 127);
  EXPECT_THAT(outcome.detail, HasSubstr("/no/such/program"));
}

TEST_P(SeveralRanks, EndTogetherWhenOneFails) {
  const auto outcome = RunToTheEnd(Script(2, "test $RANK = 1 && exit 4; sleep 60"));
  EXPECT_EQ(outcome.culprit, 1);
  EXPECT_EQ(outcome.status, (ExitStatus{4, 0}));
}

TEST_P(SeveralRanks, StopAProgramThatIgnoresTheGentleSignal) {
  std::optional<GroupOutcome> outcome;
  RankGroup group(loop_, Script(2, "trap '' TERM; touch up.$RANK; while :; do sleep 0.1; done"),
                  [&](const GroupOutcome& end) { outcome = end; });
  group.Release();
  Until([&] { return fs::exists(directory_ / "up.0") && fs::exists(directory_ / "up.1"); });
  group.Stop();
  group.Stop();
  Until([&] { return outcome.has_value(); });
  EXPECT_TRUE(outcome->stopped);
}

TEST_P(SeveralRanks, RunNothingWhenStoppedAtTheGate) {
  for (const int ranks : {1, 2}) {
    std::optional<GroupOutcome> outcome;
    RankGroup group(loop_, Script(ranks, "touch ran"), [&](const GroupOutcome& end) { outcome = end; });
    group.Stop();
    group.Release();
    Until([&] { return outcome.has_value(); });
    EXPECT_FALSE(fs::exists(directory_ / "ran"));
  }
}

TEST_P(SeveralRanks, LeaveNothingWhenDestroyed) {
  ProcessIdentity leader;
  {
    RankGroup group(loop_, Script(2, "touch up; sleep 60"), [](const GroupOutcome&) {});
    leader = group.leader();
    group.Release();
    Until([&] { return fs::exists(directory_ / "up"); });
  }
  EXPECT_FALSE(IsAlive(leader));
}

TEST_F(RankGroups, ShareOneLoop) {
  int ended = 0;
  std::vector<std::unique_ptr<RankGroup>> groups;
  for (int i = 0; i < 3; ++i) {
    auto launch = Script(1, "sleep 0.1");
    launch.log_directory = directory_ / std::to_string(i);
    fs::create_directory(launch.log_directory);
    groups.push_back(std::make_unique<RankGroup>(loop_, launch, [&](const GroupOutcome&) { ++ended; }));
    groups.back()->Release();
  }
  Until([&] { return ended == 3; });
}

TEST_F(RankGroups, RunInAFolderWithALongPath) {
  auto launch = Script(2, "echo fine");
  launch.log_directory = directory_ / std::string(150, 'x');
  fs::create_directory(launch.log_directory);
  EXPECT_TRUE(RunToTheEnd(launch).status.Success());
  EXPECT_EQ(ReadFile(launch.log_directory / "rank-00001.log"), "fine\n");
}

TEST_F(RankGroups, SurviveTheDeathOfAShim) {
  std::optional<GroupOutcome> outcome;
  RankGroup group(loop_, Script(1, "echo $$ > pid; sleep 60"), [&](const GroupOutcome& end) { outcome = end; });
  group.Release();
  Until([&] { return fs::exists(directory_ / "pid") && !ReadFile(directory_ / "pid").empty(); });
  ::kill(static_cast<pid_t>(group.leader().pid), SIGKILL);
  Until([&] { return outcome.has_value(); });
  EXPECT_FALSE(outcome->status.Success());
  const auto program = IdentityOf(std::stoi(ReadFile(directory_ / "pid")));
  for (int i = 0; i < 50 && IsAlive(program); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(IsAlive(program));
}

/// A program called mpirun, before the real one on PATH.
class FakeMpirun : public RankGroups {
 protected:
  void Install(const std::string& script) {
    fs::create_directory(directory_ / "bin");
    WriteFile(directory_ / "bin/mpirun", "#!/bin/sh\n" + script + "\n", 0755);
    path_ = std::getenv("PATH");
    ::setenv("PATH", ((directory_ / "bin").string() + ":" + path_).c_str(), 1);
  }
  void TearDown() override {
    if (!path_.empty()) ::setenv("PATH", path_.c_str(), 1);
  }
  std::string path_;
};

TEST_F(FakeMpirun, ThatFailsIsQuoted) {
  Install("echo no slots left; exit 1");
  const auto outcome = RunToTheEnd(Script(2, "true"));
  EXPECT_FALSE(outcome.status.Success());
  EXPECT_THAT(outcome.detail, HasSubstr("no slots left"));
}

TEST_F(FakeMpirun, ThatStartsSingletonsIsFoundOut) {
  Install("while [ \"${1##*/}\" != slipway-rank ]; do shift; done; \"$@\" & \"$@\" & wait");
  const auto outcome = RunToTheEnd(Script(2, "touch ran"));
  EXPECT_FALSE(outcome.status.Success());
  EXPECT_THAT(outcome.detail, HasSubstr("world size 1 instead of 2"));
  EXPECT_FALSE(fs::exists(directory_ / "ran"));
}

}  // namespace
}  // namespace slipway::launcher
