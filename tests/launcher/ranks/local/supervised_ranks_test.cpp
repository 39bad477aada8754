// Lone ranks that one supervisor starts: what becomes of them when it dies, hangs, or has hundreds.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <optional>

#include "core/files.h"
#include "tests/launcher/ranks/local/ranks_support.h"

namespace slipway::launcher {
namespace {
namespace fs = std::filesystem;

using testing::HasSubstr;

class SupervisedRanks : public RanksTest {
 protected:
  /// Starts `script` in a folder of its own.
  std::unique_ptr<Ranks> Begin(const std::string& name, const std::string& script,
                               std::optional<GroupOutcome>& outcome) {
    auto launch = Script(1, script);
    launch.log_directory = directory_ / name;
    fs::create_directory(launch.log_directory);
    auto ranks = StartRanks(loop_, launch, [&](const GroupOutcome& end) { outcome = end; });
    ranks->Release();
    return ranks;
  }
  pid_t NumberIn(const std::string& file) {
    Until([&] { return !ReadFileIfPresent(directory_ / file).value_or("").empty(); });
    return std::stoi(ReadFile(directory_ / file));
  }
  void UntilGone(pid_t pid) {
    const auto process = IdentityOf(pid);
    Until([&] { return !IsAlive(process); });
  }
  void SetUp() override { supervisor_ = &started_; }

  Supervisor started_{loop_};
};

TEST_F(SupervisedRanks, EndWithTheirSupervisorAndTheNextBeginsAnother) {
  std::optional<GroupOutcome> outcome;
  const auto first = Begin("first", "sleep 60 & echo $! > child; wait", outcome);
  const pid_t child = NumberIn("child");
  RunToTheEnd(Script(1, "true"));  // before this end, the supervisor says which group the first program has
  started_.End();
  Until([&] { return outcome.has_value(); });
  EXPECT_EQ(outcome->status, (ExitStatus{0, SIGKILL}));
  EXPECT_FALSE(fs::exists(directory_ / "first/rank-00000.exit")) << "it did not end by itself";
  UntilGone(static_cast<pid_t>(first->leader().pid));
  UntilGone(child);
  EXPECT_TRUE(RunToTheEnd(Script(1, "echo next")).status.Success());
  EXPECT_EQ(Log(0), "next\n");
}

/// It names their groups within 20 ms.
TEST_F(SupervisedRanks, LeaveNothingWhenTheirSupervisorIsKilledAsTheyBegin) {
  std::optional<GroupOutcome> outcome;
  const auto ranks = Begin("first", "sleep 60 & echo $! > child; kill -KILL $PPID; wait", outcome);
  const pid_t child = NumberIn("child");
  Until([&] { return outcome.has_value(); });
  EXPECT_EQ(outcome->status, (ExitStatus{0, SIGKILL}));
  UntilGone(child);
}

TEST_F(SupervisedRanks, AreFoundByTheTagOfTheirSupervisor) {
  const auto host = SupervisorHere();
  const auto socket = host->Begin();
  const auto begin = [this](std::int64_t supervisor, std::string_view id) {
    SpawnOptions options;
    options.argv = {"sleep", "60"};
    options.environment = Environment::Inherited();
    options.environment->Set("SLIPWAY_SUPERVISED", fmt::format("{}-{}", supervisor, id));
    auto child = ChildProcess::Spawn(options);
    const auto variables = fmt::format("/proc/{}/environ", child.pid());
    Until([&] { return !ReadFile(variables).empty(); });  // there is a moment without any while it becomes `sleep`
    return child;
  };
  const auto supervisor = host->Identity().pid;
  auto first = begin(supervisor, "7");
  auto second = begin(supervisor, "8");
  auto with_longer_id = begin(supervisor, "77");
  auto of_another = begin(supervisor + 1, "7");
  host->KillByTag({7, 8});
  EXPECT_EQ(first.WaitFor(std::chrono::seconds(30)), (ExitStatus{0, SIGKILL}));
  EXPECT_EQ(second.WaitFor(std::chrono::seconds(30)), (ExitStatus{0, SIGKILL}));
  EXPECT_FALSE(with_longer_id.TryWait());
  EXPECT_FALSE(of_another.TryWait());
  EXPECT_TRUE(IsAlive(host->Identity()));
}

TEST_F(SupervisedRanks, BeginAnotherSupervisorWhileOthersHaveNotHeardOfTheirEnd) {
  std::optional<GroupOutcome> first_end, second_end;
  const auto first = Begin("first", "sleep 60", first_end);
  started_.End();
  const auto second = Begin("second", "exit 3", second_end);
  Until([&] { return first_end && second_end; });
  EXPECT_EQ(first_end->status, (ExitStatus{0, SIGKILL}));
  EXPECT_EQ(second_end->status, (ExitStatus{3, 0}));
}

TEST_F(SupervisedRanks, LeaveNothingOfTheirGroup) {
  std::optional<GroupOutcome> outcome;
  const auto ranks = Begin("first", "sleep 60 & echo $! > child; exit 0", outcome);
  const pid_t child = NumberIn("child");
  Until([&] { return outcome.has_value(); });
  EXPECT_TRUE(outcome->status.Success());
  UntilGone(child);
}

/// What belongs to no program that runs goes with the last.
TEST_F(SupervisedRanks, LeaveNoSessionWithTheTagOfAnother) {
  std::optional<GroupOutcome> outcome;
  const auto ranks = Begin("first",
                           "SLIPWAY_SUPERVISED=1-1 setsid sh -c 'touch up; exec sleep 60' & echo $! > child; "
                           "until [ -e up ]; do sleep 0.01; done",
                           outcome);
  const pid_t child = NumberIn("child");
  Until([&] { return outcome.has_value(); });
  EXPECT_TRUE(outcome->status.Success());
  EXPECT_FALSE(IsAlive(IdentityOf(child)));
}

TEST_F(SupervisedRanks, EndAtOnceWhenDestroyed) {
  std::optional<GroupOutcome> outcome;
  auto ranks = Begin("first", "trap '' TERM; echo $$ > up; while :; do sleep 0.1; done", outcome);
  const auto program = IdentityOf(NumberIn("up"));
  ASSERT_TRUE(IsAlive(program));
  ranks.reset();
  EXPECT_FALSE(IsAlive(program));
  EXPECT_FALSE(outcome.has_value());
}

/// The supervisor is known before the program, and one for all.
TEST_F(SupervisedRanks, HangOnTheirSupervisor) {
  const auto supervisor = started_.SupervisorIdentity();
  EXPECT_TRUE(IsAlive(supervisor));
  std::optional<GroupOutcome> first_end, second_end;
  const auto first = Begin("first", "echo $PPID > parent; exit 0", first_end);
  const auto second = Begin("second", "exit 0", second_end);
  EXPECT_EQ(first->leader(), supervisor);
  EXPECT_EQ(second->leader(), supervisor);
  EXPECT_EQ(NumberIn("parent"), supervisor.pid);
  Until([&] { return first_end && second_end; });
  EXPECT_TRUE(first_end->started);
  EXPECT_GT(first_end->ranks.at(0).pid, 0);
}

TEST_F(SupervisedRanks, HaveNotStartedWhenTheirSupervisorIsGoneBefore) {
  std::optional<GroupOutcome> outcome;
  const auto ranks = StartRanks(loop_, Script(1, "touch ran"), [&](const GroupOutcome& end) { outcome = end; });
  started_.End();
  ranks->Release();
  Until([&] { return outcome.has_value(); });
  EXPECT_FALSE(outcome->started);
  EXPECT_FALSE(outcome->status.Success());
  EXPECT_THAT(outcome->detail, HasSubstr("its supervisor was gone before it could start"));
  EXPECT_FALSE(fs::exists(directory_ / "ran"));
}

/// A supervisor that is stopped answers nothing.
TEST_F(SupervisedRanks, EndWithASupervisorThatIsStuck) {
  Supervisor impatient(loop_, SupervisorHere(), std::chrono::seconds(10));
  supervisor_ = &impatient;
  ::kill(static_cast<pid_t>(impatient.SupervisorIdentity().pid), SIGSTOP);
  std::optional<GroupOutcome> outcome;
  const auto ranks = Begin("first", "touch ran", outcome);
  Until([&] { return outcome.has_value(); });
  EXPECT_EQ(outcome->status, (ExitStatus{0, SIGKILL}));
  EXPECT_FALSE(fs::exists(directory_ / "ran"));
  EXPECT_TRUE(RunToTheEnd(Script(1, "true")).status.Success());
}

TEST_F(SupervisedRanks, ByTheHundredAreAllHeardOf) {
  constexpr int kRanks = 300;
  std::vector<std::optional<GroupOutcome>> outcomes(kRanks);
  std::vector<std::unique_ptr<Ranks>> ranks;
  for (int i = 0; i < kRanks; ++i) {
    ranks.push_back(Begin(std::to_string(i), fmt::format("exit {}", i % 100), outcomes[static_cast<std::size_t>(i)]));
  }
  Until([&] { return std::all_of(outcomes.begin(), outcomes.end(), [](const auto& end) { return end.has_value(); }); });
  for (int i = 0; i < kRanks; ++i) {
    EXPECT_EQ(outcomes[static_cast<std::size_t>(i)]->status, (ExitStatus{i % 100, 0}));
    EXPECT_EQ(ReadFile(directory_ / std::to_string(i) / "rank-00000.exit"), fmt::format("{} 0\n", i % 100));
  }
}

TEST_F(SupervisedRanks, SayWhenTheirFolderIsGone) {
  auto launch = Script(1, "true");
  launch.working_directory = directory_ / "nowhere";
  const auto outcome = RunToTheEnd(launch);
  EXPECT_EQ(outcome.status.code, 127);
  EXPECT_THAT(outcome.detail, HasSubstr("No such file or directory"));
}

}  // namespace
}  // namespace slipway::launcher
