// Ensembles in trouble that is not theirs: a full disk, a locked book, a clock that is set, trials that all fail alike,
// a pattern that finds nothing. Nothing of it is silent, and nothing of it costs trials.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <fstream>
#include <map>
#include <thread>

#include "core/files.h"
#include "tests/end_to_end/workplace.h"
#include "tests/support/privileges.h"

namespace slipway::test {
namespace {
namespace fs = std::filesystem;

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr auto kPattern = "  metrics: {from: stdout, pattern: 'FoM: (?<objective>\\S+)'}\n";

std::string Ensemble(int trials, int parallel = 3) {
  return fmt::format(
      "{}ensemble:\n"
      "  objective: {{metric: objective, goal: maximize}}\n"
      "  parallel: {}\n"
      "  sampler: grid\n"
      "  space: {{x: {{int: [0, {}]}}}}\n",
      kPattern, parallel, trials - 1);
}

Json Trials(const Workplace& place) {
  return Json::parse(place.Slipway({"trials", "ls", "--json", "-n", "1000"}).output);
}

/// A small disk with the runs on it.
class SmallDisk {
 public:
  explicit SmallDisk(Workplace& place) : path_(place / "disk") {
    place.SetVariable("SLIPWAY_RUNS", path_.string());
    is_there_ = MountSmallDisk(path_, "size=2m");
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() { ::umount2(path_.c_str(), MNT_DETACH); }

  bool is_there() const { return is_there_; }
  void Grow() const { ASSERT_EQ(::mount("slipway-test", path_.c_str(), "tmpfs", MS_REMOUNT, "size=64m"), 0); }

 private:
  fs::path path_;
  bool is_there_ = false;
};

/// As `status` says it, for people and for programs.
void ExpectPaused(const Workplace& place, const std::string& cause, const std::string& what) {
  const auto status = place.Status();
  EXPECT_EQ(status["phase"], "running");
  ASSERT_TRUE(status["paused"].is_object()) << status;
  EXPECT_EQ(status["paused"]["cause"], cause);
  EXPECT_THAT(status["paused"]["reason"].get<std::string>(), HasSubstr(what));
  EXPECT_THAT(place.Slipway({"status", "last"}).output, AllOf(HasSubstr("paused since "), HasSubstr("by itself")));
}

/// Forty trials of 100 kB each.
void WriteTrialsThatFillTheDisk(const Workplace& place) {
  place.WriteSpec("exp.yaml",
                  "[sh, -c, 'head -c 100000 /dev/zero > $SLIPWAY_OUTPUT_DIR/x && echo FoM: $1', trial, '{x}']", 1,
                  Ensemble(40));
}

TEST(FullDisk, PausesTheEnsembleUntilThereIsRoomAndCostsNoTrial) {
  Workplace place;
  SmallDisk disk(place);
  if (!disk.is_there()) GTEST_SKIP() << "mounts are not allowed here";
  WriteTrialsThatFillTheDisk(place);
  auto run = place.Start({"run", "exp.yaml"});
  place.WaitForWords("warning: paused: ");
  ExpectPaused(place, "disk_full", "No space left on device");
  const auto paused = place.Slipway({"trials", "ls", "--state", "failed", "--json"});
  EXPECT_THAT(Json::parse(paused.output)["counts"], Not(testing::Contains("failed")));
  disk.Grow();
  ASSERT_EQ(run.Wait().code, 0) << ReadFile(place / "output.log");
  place.WaitForWords("the ensemble goes on");
  EXPECT_EQ(place.Status()["paused"], Json());
  const auto trials = Trials(place);
  EXPECT_EQ(trials["counts"], (Json{{"complete", 40}}));
  for (const auto& trial : trials["trials"]) EXPECT_EQ(trial["objective"], trial["parameters"]["x"]);
}

TEST(FullDisk, LetsTheUserEndTheEnsembleAndGoOnLater) {
  Workplace place;
  SmallDisk disk(place);
  if (!disk.is_there()) GTEST_SKIP() << "mounts are not allowed here";
  WriteTrialsThatFillTheDisk(place);
  auto run = place.Start({"run", "exp.yaml"});
  place.WaitForWords("warning: paused: ");
  run.Signal(SIGINT);
  const auto status = run.WaitFor(std::chrono::seconds(60));
  ASSERT_TRUE(status) << ReadFile(place / "output.log");
  EXPECT_NE(status->code, 0);
  disk.Grow();
  ASSERT_EQ(place.Slipway({"resume", "last"}).status.code, 0);
  EXPECT_EQ(Trials(place)["counts"], (Json{{"complete", 40}}));
}

/// A run that waits for space at its end: its program also takes the space that was kept for its final state.
ChildProcess StartRunThatWaitsAtItsEnd(Workplace& place) {
  place.WriteSpec(
      "exp.yaml",
      "[sh, -c, 'echo FoM: 7; sleep 1; rm $SLIPWAY_RUN_DIR/.reserve; cat /dev/zero > $SLIPWAY_OUTPUT_DIR/x; "
      "exit 0']",
      1, kPattern);
  auto run = place.Start({"run", "exp.yaml"});
  place.WaitForWords("warning: paused: ");
  return run;
}

TEST(FullDisk, IsWaitedForAtTheEndOfARun) {
  Workplace place;
  SmallDisk disk(place);
  if (!disk.is_there()) GTEST_SKIP() << "mounts are not allowed here";
  auto run = StartRunThatWaitsAtItsEnd(place);
  place.WaitForWords("No space left on device");
  ExpectPaused(place, "disk_full", "No space left on device");
  disk.Grow();
  ASSERT_EQ(run.Wait().code, 0) << ReadFile(place / "output.log");
  place.WaitForWords("the run goes on");
  EXPECT_EQ(place.Status()["phase"], "succeeded");
}

TEST(FullDisk, DoesNotHideTheResultOfARunFromWhoEndsTheWaiting) {
  Workplace place;
  SmallDisk disk(place);
  if (!disk.is_there()) GTEST_SKIP() << "mounts are not allowed here";
  auto run = StartRunThatWaitsAtItsEnd(place);
  run.Signal(SIGINT);
  ASSERT_TRUE(run.WaitFor(std::chrono::seconds(60)));
  place.WaitForWords("how the run ended is not written down");
  place.WaitForWords("succeeded in ");
}

TEST(FullDisk, IsNamedByARunThatFailedOnIt) {
  Workplace place;
  SmallDisk disk(place);
  if (!disk.is_there()) GTEST_SKIP() << "mounts are not allowed here";
  place.WriteSpec("exp.yaml", "[sh, -c, 'cat /dev/zero > $SLIPWAY_OUTPUT_DIR/x']", 1);
  const auto ran = place.Slipway({"run", "exp.yaml"});
  EXPECT_EQ(ran.status.code, 1);
  EXPECT_THAT(ran.output,
              AllOf(HasSubstr("No space left on device in '"), HasSubstr("free space there, then: slipway resume")));
}

TEST(SameFailure, EndsTheEnsembleEarlyAndItsTrialsAreTriedAgainTogether) {
  Workplace place;
  place.WriteSpec(
      "exp.yaml",
      "[sh, -c, 'test -e licence || { echo server 17: no licence for trial $1 >&2; exit 1; }; echo FoM: $1', "
      "trial, '{x}']",
      1, Ensemble(24, 1));
  const auto ran = place.Slipway({"run", "exp.yaml"});
  EXPECT_EQ(ran.status.code, 1);
  EXPECT_THAT(ran.errors,
              HasSubstr("3 trials in a row failed alike: exit status 1: server 17: no licence for trial 2"));
  EXPECT_THAT(ran.output, AllOf(HasSubstr("no further trial began ('ensemble.stop_on_same_failure')"),
                                ContainsRegex("slipway trials retry --failed [^ ]+ && slipway resume [^ ]+;")));
  EXPECT_EQ(Trials(place)["counts"], (Json{{"failed", 3}}));
  const auto explained = place.Slipway({"explain", "last"});
  EXPECT_THAT(explained.output, HasSubstr("3 trials failed: exit status 1 (0, 1, 2)"));

  place.Write("licence", "");
  const auto retried = place.Slipway({"trials", "retry", "--failed"});
  EXPECT_EQ(retried.status.code, 0) << retried.errors;
  EXPECT_THAT(place.Slipway({"trials", "ls"}).output,
              HasSubstr("3 trials wait to run again (0, 1, 2): slipway resume "));
  EXPECT_EQ(place.Slipway({"resume", "last"}).status.code, 0);
  EXPECT_EQ(Trials(place)["counts"], (Json{{"complete", 24}}));
}

TEST(SameFailure, OfAMissingInterpreterIsFoundInTheFirstTrials) {
  Workplace place;
  place.Write("python3", "#!/no/such/python3\n");  // it is there before the start
  place.Write("train", "#!" + (place / "python3").string() + "\n");
  for (const char* name : {"python3", "train"}) fs::permissions(place / name, fs::perms(0755));
  place.WriteSpec("exp.yaml", "[./train, '{x}']", 1, Ensemble(24, 1));
  const auto ran = place.Slipway({"run", "exp.yaml"});
  EXPECT_EQ(ran.status.code, 1);
  EXPECT_THAT(ran.output, HasSubstr("failed alike"));
  EXPECT_LE(Trials(place)["counts"]["failed"], 3);
}

TEST(SameFailure, IsNotLookedForWhereThatIsNotWanted) {
  Workplace place;
  place.WriteSpec("exp.yaml",
                  "[sh, -c, 'test $1 -gt 5 || { echo too small >&2; exit 1; }; echo FoM: $1', trial, '{x}']", 1,
                  Ensemble(12, 1));
  const auto ran = place.Slipway({"run", "exp.yaml", "--set", "ensemble.stop_on_same_failure=0"});
  EXPECT_EQ(ran.status.code, 0) << ran.output;
  EXPECT_EQ(Trials(place)["counts"], (Json{{"complete", 6}, {"failed", 6}}));
}

TEST(Retry, OfTrialsByTheirOutcome) {
  Workplace place;
  place.WriteSpec("exp.yaml",
                  "[sh, -c, 'test -e go || case $1 in 0) exit 3;; 1) exit 0;; esac; echo FoM: $1', trial, '{x}']", 1,
                  Ensemble(3, 1));
  ASSERT_EQ(place.Slipway({"run", "exp.yaml"}).status.code, 0);
  const auto none = place.Slipway({"trials", "retry", "--outcome", "timed_out"});
  EXPECT_EQ(none.status.code, 2);
  EXPECT_THAT(none.errors, HasSubstr("no trial that could run again has ended as 'timed_out'"));
  const auto both = place.Slipway({"trials", "retry", "1", "last", "--failed"});
  EXPECT_EQ(both.status.code, 2);
  EXPECT_THAT(both.errors, HasSubstr("a trial is named beside --failed or --outcome"));
  EXPECT_EQ(place.Slipway({"trials", "retry"}).status.code, 2);
  EXPECT_EQ(place.Slipway({"trials", "retry", "last"}).status.code, 2);
  place.Write("go", "");
  EXPECT_EQ(place.Slipway({"trials", "retry", "--outcome", "no_objective", "last"}).status.code, 0);
  EXPECT_EQ(place.Slipway({"resume", "last"}).status.code, 0);
  EXPECT_EQ(Trials(place)["counts"], (Json{{"complete", 2}, {"failed", 1}}));
}

TEST(Explain, GroupsFailuresWhateverTheirPathsAndNumbers) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'echo loss 0.$1']", 1, Ensemble(12, 1));
  EXPECT_EQ(place.Slipway({"run", "exp.yaml", "--set", "ensemble.stop_on_same_failure=0"}).status.code, 1);
  const auto explained = Json::parse(place.Slipway({"explain", "last", "--json"}).output);
  EXPECT_EQ(explained["failures"].size(), 1u) << explained.dump(2);
}

// ---- patterns

TEST(Pattern, ThatMissesTheObjectiveIsWhyTheTrialsFailed) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'echo FOM = $1', trial, '{x}']", 1, Ensemble(12, 1));
  const auto ran = place.Slipway({"run", "exp.yaml"});
  EXPECT_EQ(ran.status.code, 1);
  EXPECT_THAT(ran.output, HasSubstr("3 trials in a row failed alike: reported no 'objective': the pattern of "
                                    "train.metrics matches none of the 1 line of rank 0"));
  const auto explained = place.Slipway({"explain", "last"});
  EXPECT_THAT(explained.output, AllOf(HasSubstr("trial 0: a line near it: FOM = 0"),
                                      HasSubstr("trial 0: the pattern: FoM: (?<objective>\\S+)")));
}

TEST(Pattern, ChangesInAnEnsembleWhileNoTrialHasAResult) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'echo FOM = $1', trial, '{x}']", 1, Ensemble(4, 1));
  EXPECT_EQ(place.Slipway({"run", "exp.yaml"}).status.code, 1);
  EXPECT_THAT(place.Slipway({"explain", "last"}).output, HasSubstr("--set train.metrics.pattern='PATTERN'"));
  EXPECT_EQ(place.Slipway({"trials", "retry", "--failed", "last"}).status.code, 0);
  const auto resumed =
      place.Slipway({"resume", "last", "--set", "train.metrics.pattern=\"FOM = (?<objective>\\\\S+)\""});
  EXPECT_EQ(resumed.status.code, 0) << resumed.errors << resumed.output;
  EXPECT_EQ(Trials(place)["counts"], (Json{{"complete", 4}}));
  const auto refused = place.Slipway({"resume", "last", "--set", "train.metrics.pattern=\"(?<objective>.*)\""});
  EXPECT_EQ(refused.status.code, 2);
  EXPECT_THAT(refused.errors, HasSubstr("the finished trials ran with the other value"));
}

// ---- a book that somebody else has locked

/// Holds the trial book once there is a file `held`, and until there is `release`.
ChildProcess StartHolder(const Workplace& place) {
  place.Write("hold.py",
              "import os, sqlite3, sys, time\n"
              "book = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)\n"
              "book.execute('BEGIN EXCLUSIVE')\n"
              "open('held', 'w').close()\n"
              "while not os.path.exists('release'): time.sleep(0.05)\n"
              "book.execute('ROLLBACK')\n");
  SpawnOptions holder;
  holder.argv = {"/usr/bin/python3", (place / "hold.py").string(), (place.RunFolder() / "trials.db").string()};
  holder.working_directory = place / "";
  return ChildProcess::Spawn(holder);
}

TEST(LockedBook, IsWaitedForWithAWarning) {
  Workplace place;
  place.WriteSpec("exp.yaml",
                  "[sh, -c, 'test $1 = 0 || until test -e held; do sleep 0.05; done; echo FoM: $1', trial, '{x}']", 1,
                  Ensemble(24, 2));
  auto run = place.Start({"run", "exp.yaml"});
  place.WaitForWords("trial   0  complete");
  auto other = StartHolder(place);
  place.WaitForWords("locked by another process");
  ExpectPaused(place, "book_held", "locked by another process");
  place.Write("release", "");
  EXPECT_EQ(other.Wait().code, 0);
  EXPECT_EQ(run.Wait().code, 0) << ReadFile(place / "output.log");
  place.WaitForWords("the ensemble goes on");
  EXPECT_EQ(Trials(place)["counts"], (Json{{"complete", 24}}));
}

TEST(LockedBook, IsWaitedForAtTheBeginningToo) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'echo FoM: $1', trial, '{x}']", 1, Ensemble(8, 2));
  ASSERT_EQ(place.Slipway({"run", "exp.yaml", "--set", "ensemble.trials=4"}).status.code, 0);
  auto other = StartHolder(place);
  place.WaitForFile(place / "held");
  auto run = place.Start({"resume", "last", "--set", "ensemble.trials=8"});
  place.WaitForWords("paused: trial book");
  place.Write("release", "");
  EXPECT_EQ(other.Wait().code, 0);
  EXPECT_EQ(run.Wait().code, 0) << ReadFile(place / "output.log");
  place.WaitForWords("the ensemble goes on");
  EXPECT_EQ(Trials(place)["counts"], (Json{{"complete", 8}}));
}

// ---- a clock that somebody sets

constexpr auto kSteppedClock = SLIPWAY_BUILD_DIR "/tests/libstepped_clock.so";

class SteppedClock : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Days, SteppedClock, testing::Values("-172800", "172800"),
                         [](const auto& day) { return day.index == 0 ? "Back" : "Forward"; });

TEST_P(SteppedClock, LeavesDurationsAndBudgetsRight) {
  Workplace place;
  place.SetVariable("LD_PRELOAD", kSteppedClock);
  place.SetVariable("STEPPED_CLOCK", (place / "step").string());
  place.WriteSpec("exp.yaml", "[sh, -c, 'touch begun.$1; sleep 0.5; echo FoM: $1', trial, '{x}']", 1,
                  Ensemble(12, 2) + "  budget: {time: 1h}\n");
  auto run = place.Start({"run", "exp.yaml", "--set", "ensemble.trials=6"});
  place.WaitForFile(place / "begun.2");
  place.Write("step", GetParam());
  ASSERT_EQ(run.Wait().code, 0) << ReadFile(place / "output.log");
  const auto resumed = place.Slipway({"resume", "last", "--set", "ensemble.trials=12"});
  EXPECT_EQ(resumed.status.code, 0) << resumed.errors;
  EXPECT_THAT(resumed.output, Not(HasSubstr("time is used up")));
  const auto trials = Trials(place);
  EXPECT_EQ(trials["counts"], (Json{{"complete", 12}}));
  for (const auto& trial : trials["trials"]) {
    EXPECT_GE(trial["duration_s"], 0.4) << trial;
    EXPECT_LE(trial["duration_s"], 60) << trial;
  }
}

rlim_t SoftDescriptorLimitOf(pid_t pid) {
  rlimit limit{};
  ::prlimit(pid, RLIMIT_NOFILE, nullptr, &limit);
  return limit.rlim_cur;
}

constexpr rlim_t kSmallLimit = 200;

/// What `start` starts has a soft limit of kSmallLimit.
auto WithASmallLimit(const rlimit& limit, const auto& start) {
  const rlimit small{kSmallLimit, limit.rlim_max};
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &small), 0);
  auto started = start();
  ::setrlimit(RLIMIT_NOFILE, &limit);
  return started;
}

class ASmallLimitOfDescriptors : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    ASSERT_GT(before_.rlim_max, kSmallLimit);
  }

  Workplace place_;
  rlimit before_{};
};

TEST_F(ASmallLimitOfDescriptors, IsRaisedForTheManagerAndKeptForPrograms) {
  place_.WriteSpec("exp.yaml", "[sh, -c, 'ulimit -Sn >limit.part; mv limit.part limit; sleep 60']");
  auto run = WithASmallLimit(before_, [&] { return place_.Start({"run", "exp.yaml"}); });
  place_.WaitForFile(place_ / "limit");
  EXPECT_EQ(ReadFile(place_ / "limit"), "200\n");
  EXPECT_EQ(SoftDescriptorLimitOf(run.pid()), before_.rlim_max);
  run.Signal(SIGINT);
  EXPECT_TRUE(run.WaitFor(std::chrono::seconds(50)));
}

TEST_F(ASmallLimitOfDescriptors, IsThatOfABenchmark) {
  const auto prefix = place_ / "prefix";
  MakeDirectories(prefix / "bin");
  MakeDirectories(prefix / "libexec" / "slipway");
  std::filesystem::copy_file(SLIPWAY_BUILD_DIR "/bin/slipway", prefix / "bin" / "slipway");
  WriteFile(prefix / "libexec" / "slipway" / "bench-limit", "#!/bin/sh\nulimit -Sn\n", 0750);
  const auto ran = WithASmallLimit(before_, [&] {
    return RunAndCapture({.argv = {(prefix / "bin" / "slipway").string(), "bench", "limit"}});
  });
  EXPECT_EQ(ran.output, "200\n") << ran.errors;
}

/// Limits the size of files for what starts while it lives.
class ASmallLimitOfFileSizes {
 public:
  explicit ASmallLimitOfFileSizes(rlim_t bytes) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit small{bytes, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  }
  ASmallLimitOfFileSizes(const ASmallLimitOfFileSizes&) = delete;
  ASmallLimitOfFileSizes& operator=(const ASmallLimitOfFileSizes&) = delete;
  ~ASmallLimitOfFileSizes() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

/// Below the size of the reserve for the final state, and of the report.
constexpr rlim_t kFewBytes = 64 << 10;

TEST(SmallLimitOfFileSizes, IsNamedByTheManagerAndEndsNoRun) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'grep SigIgn /proc/self/status']");
  auto run = [&] {
    const ASmallLimitOfFileSizes limit(kFewBytes);
    return place.Start({"run", "exp.yaml", "--no-prefix"});
  }();
  EXPECT_EQ(run.Wait(), ExitStatus());
  const auto said = ReadFile(place / "output.log");
  EXPECT_THAT(said, AllOf(HasSubstr("has no report"), HasSubstr("ulimit -f")));
  EXPECT_THAT(said, HasSubstr("SigIgn:\t0000000000000000")) << "programs have the default signals";
  EXPECT_EQ(place.Status()["phase"], "succeeded");
}

TEST(SmallLimitOfFileSizes, IsNamedWhenItEndsAProgram) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'exec head -c 100000 /dev/zero >large']");
  auto run = [&] {
    const ASmallLimitOfFileSizes limit(kFewBytes);
    return place.Start({"run", "exp.yaml"});
  }();
  EXPECT_EQ(run.Wait(), (ExitStatus{1, 0}));
  EXPECT_THAT(ReadFile(place / "output.log"), HasSubstr("SIGXFSZ"));
  EXPECT_THAT(place.Slipway({"explain", "last"}).output, HasSubstr("limit of file sizes reached: check ulimit -f"));
}

TEST(Output, ThatNobodyReadsAnyMoreDoesNotEndTheRun) {
  Workplace place;
  place.WriteSpec("exp.yaml",
                  "[sh, -c, 'echo first; while [ ! -e gone ]; do sleep 0.02; done; echo second; "
                  "grep SigIgn /proc/self/status >ignored']");
  const auto ran = RunAndCapture({.argv = {"sh", "-c",
                                           "unset SLIPWAY_RUNS SLIPWAY_SITE; \"$0\" run exp.yaml 2>&1 | "
                                           "{ head -n 1 >/dev/null; exec <&-; touch gone; }",
                                           SLIPWAY_BUILD_DIR "/bin/slipway"},
                                  .working_directory = place / ""});
  EXPECT_TRUE(ran.status.Success()) << ran.errors;
  EXPECT_EQ(place.Status()["phase"], "succeeded");
  EXPECT_EQ(ReadFile(place / "ignored"), "SigIgn:\t0000000000000000\n");
}

}  // namespace
}  // namespace slipway::test
