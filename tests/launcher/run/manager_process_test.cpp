#include "launcher/run/manager_process.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/process.h"
#include "launcher/run_folder/orphan.h"
#include "tests/support/file_events.h"
#include "tests/support/kept_output.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {
namespace fs = std::filesystem;

/// A run that `process` claims to manage.
RunFolder RunManagedBy(const ChildProcess& process, const test::TempDirectory& directory) {
  auto run = RunFolder::Create(directory.path(), "exp", false);
  auto state = run.ReadState();
  state.phase = Phase::kRunning;
  state.manager = IdentityOf(process.pid());
  run.WriteState(state);
  return run;
}

ChildProcess Start(const std::string& script) {
  SpawnOptions options;
  options.argv = {"sh", "-c", script};
  return ChildProcess::Spawn(options);
}

TEST(WaitForEnd, WakesWhenTheManagerEnds) {
  const test::TempDirectory directory;
  auto manager = Start("sleep 0.3");
  const auto run = RunManagedBy(manager, directory);
  const auto started = SystemClock().Steady();
  std::thread reaper([&] { manager.Wait(); });
  const auto state = WaitForEnd(run, {});
  reaper.join();
  ASSERT_TRUE(state.has_value());
  EXPECT_EQ(state->phase, Phase::kLost);
  EXPECT_LT(SystemClock().Steady() - started, std::chrono::seconds(30));
}

TEST(WaitForEnd, GivesUpAtItsLimit) {
  const test::TempDirectory directory;
  const auto manager = Start("exec sleep 60");
  EXPECT_FALSE(WaitForEnd(RunManagedBy(manager, directory), Seconds(0.05)).has_value());
}

/// A run that is managed on another host.
class RunElsewhere : public testing::Test {
 protected:
  RunElsewhere() : run_(RunFolder::Create(directory_.path(), "exp", false)) {
    auto state = run_.ReadState();
    state.phase = Phase::kRunning;
    state.host = "elsewhere";
    run_.WriteState(state);
  }

  const test::TempDirectory directory_;
  const RunFolder run_;
};

TEST_F(RunElsewhere, IsLostOnceItsManagerLetsGoOfTheLock) {
  const auto file = run_.path() / kManagerLock;
  std::optional lock = FileLock::TryAcquire(file, LockMode::kExclusive);
  ASSERT_TRUE(lock);
  const test::FileEvents looks(file, IN_CLOSE_NOWRITE);
  std::thread manager([&] {
    for (int look = 0; look < 2; ++look) {  // the first may be that of ReadState, which is forgotten
      ASSERT_TRUE(looks.TakeNext()) << "nobody has looked whether it is held";
    }
    lock.reset();
  });
  const auto state = WaitForEnd(run_, Seconds(60));
  manager.join();
  ASSERT_TRUE(state.has_value());
  EXPECT_EQ(state->phase, Phase::kLost);
  EXPECT_EQ(state->cause, EndCause(cause::ManagerLost{state->manager.pid, "elsewhere"}));
}

TEST_F(RunElsewhere, IsNotLostWhereItsLockWasNeverSeenHeld) {
  { const auto lock = FileLock::TryAcquire(run_.path() / kManagerLock, LockMode::kExclusive); }
  EXPECT_FALSE(WaitForEnd(run_, Seconds(0.05)).has_value());
}

TEST_F(RunElsewhere, IsNotLostWhereItsLockCannotBeLookedAt) {
  fs::create_symlink(kManagerLock, run_.path() / kManagerLock);
  EXPECT_FALSE(WaitForEnd(run_, Seconds(0.05)).has_value());
  EXPECT_EQ(run_.ReadState().reason, "");
}

TEST_F(RunElsewhere, MayHaveLostItsManagerWhereItsLockIsFree) {
  auto lock = FileLock::TryAcquire(run_.path() / kManagerLock, LockMode::kExclusive);
  EXPECT_EQ(run_.ReadState().reason, "");
  lock.reset();
  auto state = run_.ReadState();
  EXPECT_EQ(state.phase, Phase::kRunning) << "locks may count on one host only";
  EXPECT_THAT(state.reason, testing::HasSubstr("on elsewhere) may be gone, as its lock is free"));
  EXPECT_THAT(state.reason, testing::HasSubstr("slipway resume " + run_.id() + " if elsewhere is gone"));
  state.reason.clear();
  state.batch_job = 7;  // Slurm tells of its manager
  run_.WriteState(state);
  EXPECT_EQ(run_.ReadState().reason, "");
}

TEST(AskToStop, SignalsTheManagerAndNobodyElse) {
  const test::TempDirectory directory;
  auto manager = Start("exec sleep 60");
  const auto run = RunManagedBy(manager, directory);
  const auto state = run.ReadState();
  auto other = state;
  other.manager.start_time += 1;  // the number has been taken by somebody else
  AskToStop(other);
  EXPECT_FALSE(manager.WaitFor(std::chrono::milliseconds(100)).has_value());
  AskToStop(state);
  EXPECT_EQ(manager.Wait().signal, SIGTERM);
}

/// A manager that has the lock of its run, as the shell's descriptor 9.
class ManagerOfOriginal : public testing::Test {
 protected:
  ManagerOfOriginal()
      : manager_(Start(fmt::format("cd {}; mkdir run; exec 9> run/.manager.lock; touch began; exec sleep 60",
                                   directory_.path().string()))) {
    while (!fs::exists(directory_ / "began")) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    auto run = RunManagedBy(manager_, directory_);
    for (const auto* name : {"run", "copy"}) fs::copy(run.path(), directory_ / name, fs::copy_options::recursive);
  }

  RunFolder Run(const char* name) const { return RunFolder::Open(directory_ / name); }

  const test::TempDirectory directory_;
  ChildProcess manager_;
};

TEST_F(ManagerOfOriginal, IsNotThatOfACopyWhichReadsAsLost) {
  const auto copy = Run("copy").ReadState();
  EXPECT_EQ(copy.phase, Phase::kLost);
  const auto original = fs::canonical(directory_ / "run").string();
  EXPECT_EQ(copy.cause, EndCause(cause::ManagerElsewhere{copy.manager.pid, original}));
  EXPECT_THAT(copy.reason, testing::HasSubstr("owns '" + original + "'"));
  EXPECT_EQ(Run("run").ReadState().phase, Phase::kRunning);
}

TEST_F(ManagerOfOriginal, IsNeitherSignalledNorWaitedForByACopy) {
  const auto copy = Run("copy");
  try {
    AskToStop(copy.ReadState());
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBusy);
    EXPECT_THAT(error.message(), testing::HasSubstr("owns '" + fs::canonical(directory_ / "run").string() + "'"));
  }
  EXPECT_THROW(WaitForEnd(copy, {}), Error);
  EXPECT_FALSE(manager_.WaitFor(std::chrono::milliseconds(100)).has_value());
}

TEST_F(ManagerOfOriginal, IsSignalledByItsRunAlsoAfterAMove) {
  fs::rename(directory_ / "run", directory_ / "moved");
  const auto run = Run("moved");
  EXPECT_FALSE(WaitForEnd(run, Seconds(0.05)).has_value());
  AskToStop(run.ReadState());
  EXPECT_EQ(manager_.Wait().signal, SIGTERM);
}

TEST(AskToStop, RefusesAManagerOnAnotherHost) {
  const test::TempDirectory directory;
  const auto run = RunFolder::Create(directory.path(), "exp", false);
  auto state = run.ReadState();
  state.host = "elsewhere";
  EXPECT_THROW(AskToStop(state), Error);
}

TEST(EndOrphan, EndsAGroupThatIgnoresTheGentleSignal) {
  const test::TempDirectory directory;
  auto orphan =
      Start(fmt::format("cd {}; trap '' TERM; touch began; sleep 60 & wait; sleep 60", directory.path().string()));
  const auto leader = IdentityOf(orphan.pid());
  while (!fs::exists(directory / "began")) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::thread reaper([&] { orphan.Wait(); });
  EndOrphan(leader, std::chrono::milliseconds(200));
  reaper.join();
  EXPECT_FALSE(IsAlive(leader));
}

TEST(EndOrphan, ReturnsOnlyWhenAnEndedProcessIsReaped) {
  auto orphan = Start("exit 0");
  const auto leader = IdentityOf(orphan.pid());
  while (IsAlive(leader)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::atomic<bool> recorded = false;
  std::thread supervisor([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    recorded = true;
    orphan.Wait();
  });
  const auto began = SystemClock().Steady();
  EndOrphan(leader);
  const bool was_patient = SystemClock().Steady() - began >= std::chrono::milliseconds(500);
  EXPECT_TRUE(recorded || was_patient) << "the record of its end is written before it is reaped";
  supervisor.join();
}

/// A process that ends once it is told so by a file `go`; a file `asked` shows that it got SIGTERM.
ChildProcess StartSaver(const test::TempDirectory& directory) {
  const auto place = directory.path().string();
  auto saver =
      Start(fmt::format("cd {}; trap 'touch asked; exit 0' TERM; touch began; "
                        "while ! test -e go; do sleep 0.01; done",
                        place));
  while (!fs::exists(directory / "began")) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return saver;
}

/// Lets a saver end once it is said that it is waited for.
class OutputThatReleases final : public test::KeptOutput {
 public:
  explicit OutputThatReleases(const test::TempDirectory& directory) : directory_(directory) {}

  void Say(std::string_view line) override {
    KeptOutput::Say(line);
    WriteFile(directory_ / "go", "");
  }

 private:
  const test::TempDirectory& directory_;
};

TEST(EndOrphanedRanks, WaitsForRanksThatEndByThemselvesAndSaysSo) {
  const test::TempDirectory directory;
  auto saver = StartSaver(directory);
  const auto starter = IdentityOf(saver.pid());
  std::thread reaper([&] { saver.Wait(); });
  OutputThatReleases output(directory);
  EndOrphanedRanks(starter, output, std::chrono::minutes(1));
  reaper.join();
  EXPECT_FALSE(fs::exists(directory / "asked")) << "a signal would cut short what it saves";
  EXPECT_THAT(output.said, testing::StartsWith("waiting up to 1m00s for the ranks"));
}

TEST(EndOrphanedRanks, AsksRanksThatDoNotEndByThemselves) {
  const test::TempDirectory directory;
  auto saver = StartSaver(directory);
  const auto starter = IdentityOf(saver.pid());
  test::KeptOutput output;
  std::thread reaper([&] { saver.Wait(); });
  EndOrphanedRanks(starter, output, std::chrono::seconds(5));
  reaper.join();
  EXPECT_FALSE(IsAlive(starter));
  EXPECT_TRUE(fs::exists(directory / "asked"));
}

TEST(EndOrphanedRanks, WaitsForWhatAnEndedProgramHasStarted) {
  const test::TempDirectory directory;
  auto program =
      Start(fmt::format("cd {}; (trap 'touch asked' TERM; touch began; while ! test -e go; do sleep 0.01; "
                        "done; touch saved) & exit 0",
                        directory.path().string()));
  const auto leader = IdentityOf(program.pid());
  while (IsAlive(leader) || !fs::exists(directory / "began")) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  OutputThatReleases output(directory);
  EndOrphanedRanks(leader, output, std::chrono::minutes(1));
  EXPECT_TRUE(fs::exists(directory / "saved"));
  EXPECT_FALSE(fs::exists(directory / "asked"));
  program.Wait();
}

TEST(EndOrphanedRanks, SaysNothingOfRanksThatAreGone) {
  auto program = Start("exit 0");
  const auto starter = IdentityOf(program.pid());
  program.Wait();
  test::KeptOutput output;
  EndOrphanedRanks(starter, output);
  EndOrphanedRanks({}, output);
  EXPECT_THAT(output.said, testing::IsEmpty());
}

TEST(EndOrphan, LeavesStrangersAlone) {
  auto stranger = Start("exec sleep 60");
  auto identity = IdentityOf(stranger.pid());
  identity.start_time += 1;
  EndOrphan(identity);
  EndOrphan({});
  EXPECT_FALSE(stranger.WaitFor(std::chrono::milliseconds(100)).has_value());
}

}  // namespace
}  // namespace slipway::launcher
