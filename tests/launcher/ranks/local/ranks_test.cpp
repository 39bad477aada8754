// Real ranks: the shim, mpirun, exit codes, signals, and what they leave behind.

#include "launcher/ranks/local/ranks.h"

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
#include "launcher/ranks/local/bound_to_cores.h"
#include "launcher/ranks/local/supervisor.h"
#include "tests/launcher/ranks/local/print_mpi.h"
#include "tests/launcher/ranks/local/ranks_support.h"

namespace slipway::launcher {
namespace {
namespace fs = std::filesystem;

using testing::HasSubstr;

/// Behind a shim, and started by a supervisor.
class LoneRanks : public RanksTest, public testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    if (GetParam()) supervisor_ = &started_;
  }

  Supervisor started_{loop_};
};

INSTANTIATE_TEST_SUITE_P(With, LoneRanks, testing::Bool(),
                         [](const auto& with) { return with.param ? "Supervisor" : "Shim"; });

TEST_P(LoneRanks, RunOneRankAndKeepWhatItPrints) {
  const auto outcome = RunToTheEnd(Script(1, "echo out; echo err >&2; echo $RANK/$WORLD_SIZE/$LOCAL_RANK; pwd"));
  EXPECT_TRUE(outcome.status.Success()) << outcome.detail;
  EXPECT_EQ(Log(0), "out\nerr\n0/1/0\n" + directory_.path().string() + "\n");
  EXPECT_EQ(ReadFile(directory_ / "rank-00000.exit"), "0 0\n");
  struct stat info {};
  ASSERT_EQ(::stat((directory_ / "rank-00000.log").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0137, 0u);
}

TEST_F(RanksTest, PassEveryWordUnchanged) {
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
class SeveralRanks : public RanksTest, public testing::WithParamInterface<Mpi> {
 protected:
  void SetUp() override {
    try {
      mpi_ = FindMpiLauncher(GetParam());
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  RankLaunch Script(int ranks, const std::string& script) const {
    auto launch = RanksTest::Script(ranks, script);
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

TEST_P(LoneRanks, RunALoneRankAsALoneRankInsideAnotherJob) {
  auto launch = Script(1, "echo $RANK/$WORLD_SIZE/${OMPI_COMM_WORLD_SIZE-unset}");
  launch.environment.Set("OMPI_COMM_WORLD_RANK", "3").Set("OMPI_COMM_WORLD_SIZE", "8").Set("SLURM_NTASKS", "8");
  EXPECT_TRUE(RunToTheEnd(launch).status.Success());
  EXPECT_EQ(Log(0), "0/1/unset\n");
}

TEST_P(LoneRanks, ReportExitCodesAndSignals) {
  EXPECT_EQ(RunToTheEnd(Script(1, "exit 7")).status, (ExitStatus{7, 0}));
  EXPECT_EQ(RunToTheEnd(Script(1, "kill -ABRT $$")).status, (ExitStatus{0, SIGABRT}));
  EXPECT_TRUE(RunToTheEnd(Script(1, "exit 75")).requeue);
}

TEST_P(LoneRanks, NameAProgramThatDoesNotExist) {
  const auto outcome = RunToTheEnd(Launch(1, {"/no/such/program"}));
  EXPECT_EQ(outcome.status.code, 127);
  EXPECT_THAT(outcome.detail, HasSubstr("/no/such/program"));
}

TEST_P(LoneRanks, NameAMissingInterpreter) {
  WriteFile(directory_ / "script", "#!/no/such/interpreter\n", 0750);
  const auto outcome = RunToTheEnd(Launch(1, {"./script"}));
  EXPECT_EQ(outcome.status.code, 127);
  EXPECT_THAT(outcome.detail,
              HasSubstr("could not start './script': its interpreter '/no/such/interpreter' is missing"));
}

TEST_P(SeveralRanks, NameAMissingInterpreter) {
  WriteFile(directory_ / "script", "#!/no/such/interpreter\n", 0750);
  auto launch = Launch(2, {"./script"});
  launch.mpi = mpi_;
  const auto outcome = RunToTheEnd(std::move(launch));
  EXPECT_EQ(outcome.status.code, 127);
  EXPECT_THAT(outcome.detail, HasSubstr("its interpreter '/no/such/interpreter' is missing"));
}

TEST_P(SeveralRanks, RunEachOnCoresOfItsOwn) {
  const auto cores = UsableCores();
  if (cores.size() < 2) GTEST_SKIP() << "one core";
  auto launch = Script(2, "grep Cpus_allowed_list /proc/self/status");
  launch.bind_to = {{0, {cores[1], cores[0]}}};
  EXPECT_TRUE(RunToTheEnd(launch).status.Success());
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(Log(rank), fmt::format("Cpus_allowed_list:\t{}\n", cores[static_cast<std::size_t>(1 - rank)]));
  }
}

TEST_P(SeveralRanks, RunUnboundOnCoresThatThereAreNot) {
  auto launch = Script(2, "touch ran.$RANK");
  launch.bind_to = {{0, {CPU_SETSIZE - 2, CPU_SETSIZE - 1}}};
  std::string warned;
  launch.warned = [&](const std::string& what) { warned = what; };
  EXPECT_TRUE(RunToTheEnd(launch).status.Success());
  EXPECT_TRUE(fs::exists(directory_ / "ran.1"));
  EXPECT_THAT(warned, HasSubstr("could not be bound to its cores: Invalid argument"));
}

TEST_P(SeveralRanks, AreToldWhatIsForTheirNode) {
  auto launch = Script(2, "echo $SLIPWAY_DATA_TRAIN, $OTHER");
  launch.environment.Set("SLIPWAY_DATA_TRAIN", "/of/all");
  launch.variables_on = {{0, {{"SLIPWAY_DATA_TRAIN", "/tier/of this node"}, {"OTHER", ""}}},
                         {1, {{"SLIPWAY_DATA_TRAIN", "/elsewhere"}}}};
  EXPECT_TRUE(RunToTheEnd(launch).status.Success());
  for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(Log(rank), "/tier/of this node,\n");
}

TEST_P(SeveralRanks, SeeEachTheirOwnDevices) {
  auto launch = Script(2, "echo $CUDA_VISIBLE_DEVICES/$ROCR_VISIBLE_DEVICES/${ZE_AFFINITY_MASK-unset}");
  launch.environment.Set("CUDA_VISIBLE_DEVICES", "0,2,4,GPU-77").Set("ROCR_VISIBLE_DEVICES", "5,6,7,8");
  launch.environment.Unset("ZE_AFFINITY_MASK");
  launch.devices_of[0] = ShareOut(DevicesNamedIn(launch.environment), 2);
  EXPECT_TRUE(RunToTheEnd(launch).status.Success());
  EXPECT_EQ(Log(0), "0,2/5,6/unset\n");
  EXPECT_EQ(Log(1), "4,GPU-77/7,8/unset\n");
}

TEST_P(SeveralRanks, EndTogetherWhenOneFails) {
  const auto outcome = RunToTheEnd(Script(2, "test $RANK = 1 && exit 4; sleep 60"));
  EXPECT_EQ(outcome.culprit, 1);
  EXPECT_EQ(outcome.status, (ExitStatus{4, 0}));
}

/// mpirun does not cut it short.
TEST_P(SeveralRanks, HaveTheirGraceTimeWhenOneFails) {
  auto launch = Script(2,
                       "if [ $RANK = 1 ]; then while [ ! -e up ]; do sleep 0.05; done; exit 4; fi; "
                       "trap 'sleep 4; echo saved; exit' TERM; touch up; while :; do sleep 0.1; done");
  launch.grace = std::chrono::seconds(60);
  const auto outcome = RunToTheEnd(std::move(launch));
  EXPECT_EQ(outcome.culprit, 1);
  EXPECT_EQ(outcome.status, (ExitStatus{4, 0}));
  EXPECT_THAT(Log(0), HasSubstr("saved"));
}

TEST_P(SeveralRanks, StopAProgramThatIgnoresTheGentleSignal) {
  std::optional<GroupOutcome> outcome;
  const auto group = StartRanks(loop_, Script(2, "trap '' TERM; touch up.$RANK; while :; do sleep 0.1; done"),
                                [&](const GroupOutcome& end) { outcome = end; });
  group->Release();
  Until([&] { return fs::exists(directory_ / "up.0") && fs::exists(directory_ / "up.1"); });
  group->Stop();
  group->Stop();
  Until([&] { return outcome.has_value(); });
  EXPECT_TRUE(outcome->stopped);
}

TEST_P(SeveralRanks, AreToldBySignalAndEndByThemselves) {
  std::optional<GroupOutcome> outcome;
  const auto group = StartRanks(
      loop_, Script(2, "trap 'sleep $RANK; echo saved; exit 75' USR1; touch up.$RANK; while :; do sleep 0.1; done"),
      [&](const GroupOutcome& end) { outcome = end; });
  group->Signal(SIGUSR1);  // nobody is there yet
  group->Release();
  Until([&] { return fs::exists(directory_ / "up.0") && fs::exists(directory_ / "up.1"); });
  group->ExpectEnd();  // one that has saved waits for nobody, nor is it a reason to end the other
  group->Signal(SIGUSR1);
  Until([&] { return outcome.has_value(); });
  EXPECT_FALSE(outcome->stopped);
  EXPECT_TRUE(outcome->requeue);
  for (const int rank : {0, 1}) EXPECT_THAT(Log(rank), HasSubstr("saved"));
}

TEST_P(SeveralRanks, RunNothingWhenStoppedAtTheGate) {
  for (const int ranks : {1, 2}) {
    std::optional<GroupOutcome> outcome;
    const auto group = StartRanks(loop_, Script(ranks, "touch ran"), [&](const GroupOutcome& end) { outcome = end; });
    group->Stop();
    group->Release();
    Until([&] { return outcome.has_value(); });
    EXPECT_FALSE(fs::exists(directory_ / "ran"));
  }
}

TEST_P(SeveralRanks, LeaveNothingWhenDestroyed) {
  ProcessIdentity leader;
  {
    const auto group = StartRanks(loop_, Script(2, "touch up; sleep 60"), [](const GroupOutcome&) {});
    leader = group->leader();
    group->Release();
    Until([&] { return fs::exists(directory_ / "up"); });
  }
  EXPECT_FALSE(IsAlive(leader));
}

TEST_P(LoneRanks, ShareOneLoop) {
  int ended = 0;
  std::vector<std::unique_ptr<Ranks>> groups;
  for (int i = 0; i < 3; ++i) {
    auto launch = Script(1, "sleep 0.1");
    launch.log_directory = directory_ / std::to_string(i);
    fs::create_directory(launch.log_directory);
    groups.push_back(StartRanks(loop_, launch, [&](const GroupOutcome&) { ++ended; }));
    groups.back()->Release();
  }
  Until([&] { return ended == 3; });
}

TEST_F(RanksTest, RunInAFolderWithALongPath) {
  auto launch = Script(2, "echo fine");
  launch.log_directory = directory_ / std::string(150, 'x');
  fs::create_directory(launch.log_directory);
  EXPECT_TRUE(RunToTheEnd(launch).status.Success());
  EXPECT_EQ(ReadFile(launch.log_directory / "rank-00001.log"), "fine\n");
}

TEST_P(LoneRanks, SurviveTheDeathOfAShim) {
  std::optional<GroupOutcome> outcome;
  const auto group =
      StartRanks(loop_, Script(1, "echo $$ > pid; sleep 600"), [&](const GroupOutcome& end) { outcome = end; });
  group->Release();
  Until([&] { return fs::exists(directory_ / "pid") && !ReadFile(directory_ / "pid").empty(); });
  ::kill(static_cast<pid_t>(group->leader().pid), SIGKILL);
  Until([&] { return outcome.has_value(); });
  EXPECT_FALSE(outcome->status.Success());
  const auto program = IdentityOf(std::stoi(ReadFile(directory_ / "pid")));
  for (int i = 0; i < 1500 && IsAlive(program); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(IsAlive(program));
}

TEST_P(LoneRanks, RunOnTheirCores) {
  auto launch = Script(1, "sed -n 's/^Cpus_allowed_list:\\t//p' /proc/self/status");
  launch.cores = {UsableCores().back()};
  EXPECT_TRUE(RunToTheEnd(launch).status.Success());
  EXPECT_EQ(Log(0), fmt::format("{}\n", launch.cores.front()));
}

TEST_P(LoneRanks, EndWhenTheyAreStopped) {
  std::optional<GroupOutcome> outcome;
  const auto group = StartRanks(loop_, Script(1, "trap '' TERM; touch up; while :; do sleep 0.1; done"),
                                [&](const GroupOutcome& end) { outcome = end; });
  group->Release();
  Until([&] { return fs::exists(directory_ / "up"); });
  group->Stop();
  Until([&] { return outcome.has_value(); });
  EXPECT_TRUE(outcome->stopped);
  EXPECT_FALSE(fs::exists(directory_ / "rank-00000.exit")) << "it did not end by itself";
}

TEST_P(LoneRanks, AreToldBySignalAndEndByThemselves) {
  std::optional<GroupOutcome> outcome;
  const auto group =
      StartRanks(loop_, Script(1, "trap 'echo saved; exit 75' USR1; touch up; while :; do sleep 0.1; done"),
                 [&](const GroupOutcome& end) { outcome = end; });
  group->Signal(SIGUSR1);  // nobody is there yet
  group->Release();
  Until([&] { return fs::exists(directory_ / "up"); });
  group->Signal(SIGUSR1);
  Until([&] { return outcome.has_value(); });
  EXPECT_FALSE(outcome->stopped);
  EXPECT_TRUE(outcome->requeue);
  EXPECT_THAT(Log(0), HasSubstr("saved"));
  EXPECT_TRUE(fs::exists(directory_ / "rank-00000.exit")) << "it ended by itself";
}

TEST_P(LoneRanks, RunNothingWhenStoppedAtTheGate) {
  std::optional<GroupOutcome> outcome;
  const auto group = StartRanks(loop_, Script(1, "touch ran"), [&](const GroupOutcome& end) { outcome = end; });
  group->Stop();
  group->Release();
  Until([&] { return outcome.has_value(); });
  EXPECT_FALSE(fs::exists(directory_ / "ran"));
}

/// A program called mpirun, before the real one on PATH.
class FakeMpirun : public RanksTest {
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

/// As when the batch system's variables are all that the ranks have to go by.
TEST_F(FakeMpirun, ThatStartsTheSameRankTwiceIsFoundOut) {
  Install("while [ \"${1##*/}\" != slipway-rank ]; do shift; done; \"$@\" & \"$@\" & wait");
  auto launch = Script(2, "touch ran");
  launch.environment.Set("SLURM_PROCID", "0").Set("SLURM_NTASKS", "2");
  const auto outcome = RunToTheEnd(launch);
  EXPECT_FALSE(outcome.status.Success());
  EXPECT_THAT(outcome.detail, HasSubstr("several ranks 0 of 2"));
  EXPECT_FALSE(fs::exists(directory_ / "ran"));
}

/// It kills a shim whose program has ended, before the shim's last line, and fails. The parameter is the shim's rank.
class KilledShim : public FakeMpirun, public testing::WithParamInterface<int> {
 protected:
  /// The program writes what its shim would have written, after the other rank has ended well.
  GroupOutcome EndWithRecord(const std::string& record) {
    Install(
        "while [ \"${1##*/}\" != slipway-rank ]; do shift; done\n"
        "for rank in 0 1; do SLURM_PROCID=$rank SLURM_NTASKS=2 \"$@\" & done; wait; exit 1");
    return RunToTheEnd(Script(2, fmt::format("[ $RANK = {0} ] || exit 0\n"
                                             "until [ -s rank-0000{1}.exit ]; do sleep 0.01; done\n"
                                             "printf '{2}' > rank-0000{0}.exit; kill -9 $PPID",
                                             GetParam(), other(), record)));
  }
  static int other() { return 1 - GetParam(); }
  static const RankOutcome& In(const GroupOutcome& outcome, int rank) {
    return outcome.ranks.at(static_cast<std::size_t>(rank));
  }
};
INSTANTIATE_TEST_SUITE_P(OfRank, KilledShim, testing::Values(0, 1));

TEST_P(KilledShim, HasTheStatusOfItsRecord) {
  const auto outcome = EndWithRecord("3 0\\n");
  ASSERT_EQ(outcome.ranks.size(), 2u);
  EXPECT_EQ(In(outcome, GetParam()).status, (ExitStatus{3, 0}));
  EXPECT_EQ(In(outcome, other()).status, (ExitStatus{0, 0}));
  EXPECT_EQ(outcome.culprit, GetParam()) << outcome.detail;
  EXPECT_EQ(outcome.status, (ExitStatus{3, 0}));
}

/// Then nothing says that the program failed, and the launcher has ended the job: the other rank has left early.
TEST_P(KilledShim, HasNoStatusWhereItsRecordIsTorn) {
  const auto outcome = EndWithRecord("3 0");
  ASSERT_EQ(outcome.ranks.size(), 2u);
  EXPECT_EQ(In(outcome, GetParam()).status, std::nullopt);
  EXPECT_EQ(outcome.culprit, other()) << outcome.detail;
}

}  // namespace
}  // namespace slipway::launcher
