// Run folders that are damaged, copied, written by another host, or only prepared, as users find them.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <fstream>

#include "core/files.h"
#include "tests/end_to_end/workplace.h"

namespace slipway::test {
namespace {
namespace fs = std::filesystem;

using testing::HasSubstr;
using testing::Not;

constexpr auto kFolderEnsemble =
    "  metrics: {from: stdout, pattern: 'FoM: (?<objective>\\S+)'}\n"
    "ensemble:\n"
    "  objective: {metric: objective, goal: maximize}\n"
    "  sampler: random\n"
    "  trials: 2\n"
    "  space: {x: {int: [0, 1000]}}\n";

/// The id of a new run that has succeeded.
std::string RunIn(const Workplace& place) {
  return Json::parse(place.Slipway({"run", "exp.yaml", "--json"}).output)["run"].get<std::string>();
}

class DamagedRun : public testing::Test {
 protected:
  DamagedRun() {
    place_.WriteSpec("exp.yaml", "['true']");
    sound_ = RunIn(place_);
    damaged_ = RunIn(place_);
  }

  fs::path StateFile() const { return place_ / "runs" / damaged_ / "state.json"; }

  /// Whatever is wrong with one run, the other is used as before.
  void ExpectTheOtherUsable(const std::string& reason) const {
    const auto listed = place_.Slipway({"ls"});
    EXPECT_EQ(listed.status.code, 0) << listed.errors;
    EXPECT_THAT(listed.output, HasSubstr("succeeded"));
    EXPECT_THAT(listed.output, HasSubstr("unreadable"));
    EXPECT_THAT(listed.output, HasSubstr(reason));
    const auto runs = Json::parse(place_.Slipway({"ls", "--json"}).output)["runs"];
    ASSERT_EQ(runs.size(), 2U);
    for (const auto& run : runs) EXPECT_EQ(run["phase"], run["run"] == damaged_ ? "unreadable" : "succeeded");
    EXPECT_EQ(place_.Slipway({"status", sound_}).status.code, 0);
    const auto last = place_.Slipway({"status", "last"});
    EXPECT_EQ(last.status.code, 0) << last.errors;
    EXPECT_THAT(last.output, HasSubstr(sound_));
    const auto named = place_.Slipway({"status", damaged_});
    EXPECT_EQ(named.status.code, 3) << named.errors;
    EXPECT_THAT(named.errors, HasSubstr("slipway "));
    EXPECT_EQ(place_.Slipway({"status", "runs/" + damaged_}).status.code, 3);
  }

  Workplace place_;
  std::string sound_;
  std::string damaged_;
};

TEST_F(DamagedRun, WithAnEmptyStateLeavesTheOthersUsable) {
  WriteFile(StateFile(), "");
  ExpectTheOtherUsable("state.json is damaged");
}

/// As a folder of another user that may not be looked into, but root cannot look into it, either.
TEST_F(DamagedRun, ThatCannotBeReadLeavesTheOthersUsable) {
  fs::remove(StateFile());
  fs::create_symlink("state.json", StateFile());
  ExpectTheOtherUsable("Too many levels of symbolic links");
}

/// Whoever may write into the folder of runs must not keep the others from listing them.
TEST_F(DamagedRun, WhoseStateIsAPipeLeavesTheOthersUsable) {
  fs::remove(StateFile());
  ASSERT_EQ(::mkfifo(StateFile().c_str(), 0600), 0);
  ExpectTheOtherUsable("is not a file");
}

TEST_F(DamagedRun, WhoseStateIsHugeLeavesTheOthersUsable) {
  fs::resize_file(StateFile(), std::uintmax_t{40} << 30);
  ExpectTheOtherUsable("has 42.9 GB, and no document of Slipway is larger than 268 MB");
}

TEST_F(DamagedRun, WhosePlanIsAPipeIsListed) {
  fs::remove(StateFile().parent_path() / "plan.json");
  ASSERT_EQ(::mkfifo((StateFile().parent_path() / "plan.json").c_str(), 0600), 0);
  EXPECT_EQ(place_.Slipway({"ls"}).status.code, 0);
}

TEST_F(DamagedRun, ThatIsRenamedIsListedAndFound) {
  fs::rename(StateFile().parent_path(), place_ / "runs/best");
  const auto runs = Json::parse(place_.Slipway({"ls", "--json"}).output)["runs"];
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_THAT(runs[1]["folder"].get<std::string>(), testing::EndsWith("/runs/best"));
  EXPECT_EQ(place_.Slipway({"status", "best"}).status.code, 0);
  EXPECT_THAT(place_.Slipway({"ls"}).output, HasSubstr("best"));
}

TEST_F(DamagedRun, IsPassedOverWithAWarningWhenItMayBeTheLast) {
  fs::create_directories(place_ / "runs" / "test-29991231-235959-ffff");
  place_.Write("runs/test-29991231-235959-ffff/state.json", "{");
  EXPECT_THAT(place_.Slipway({"status", "last"}).errors, HasSubstr("test-29991231-235959-ffff cannot be read"));
}

TEST(CopiedRun, LeavesTheTrialsOfARunAtWorkAlone) {
  const Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'touch started; while ! test -e go; do sleep 0.05; done; echo FoM: 1']", 1,
                  kFolderEnsemble);
  auto run = place.Start({"run", "exp.yaml"});
  place.WaitForFile(place / "started");
  const auto original = place.RunFolder();
  fs::copy(original, place / "copy", fs::copy_options::recursive);
  const auto refused = place.Slipway({"resume", "./copy"});
  EXPECT_EQ(refused.status.code, 4) << refused.errors;
  EXPECT_THAT(refused.errors, HasSubstr("a copy of run " + original.filename().string() + ","));
  EXPECT_THAT(refused.errors, HasSubstr("owns '" + original.string() + "'"));
  for (const auto* command : {"cancel", "wait"}) {
    const auto left_alone = place.Slipway({command, "./copy"});
    EXPECT_EQ(left_alone.status.code, 4) << command << left_alone.errors;
    EXPECT_THAT(left_alone.errors, HasSubstr("owns '" + original.string() + "'"));
  }
  const auto status = Json::parse(place.Slipway({"status", "./copy", "--json"}).output);
  EXPECT_EQ(status["phase"], "lost");
  EXPECT_EQ(status["cause"]["folder"], original.string());
  EXPECT_EQ(Json::parse(place.Slipway({"ls", "--runs-dir", ".", "--json"}).output)["runs"][0]["phase"], "lost");
  EXPECT_EQ(place.Slipway({"logs", "./copy", "--trial", "0", "--follow"}).status.code, 0) << "it waits for nothing";
  EXPECT_EQ(Json::parse(place.Slipway({"status", "--json"}).output)["phase"], "running");
  place.Write("go", "");
  EXPECT_TRUE(run.Wait().Success());
  const auto trials = Json::parse(place.Slipway({"trials", "ls", "--json"}).output);
  EXPECT_EQ(trials["counts"]["complete"], 2);
  const auto resumed = place.Slipway({"resume", "./copy"});
  EXPECT_EQ(resumed.status.code, 0) << "nobody works on the original any more: " << resumed.errors;
}

TEST(PreparedRun, SaysThatItIsReadyAndIsRunOrCancelled) {
  const Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'echo FoM: $1', trial, '{x}']", 1, kFolderEnsemble);
  const auto make = [&] {
    return Json::parse(place.Slipway({"trials", "new", "exp.yaml", "--json"}).output)["run"].get<std::string>();
  };
  const auto first = make();
  const auto ready = place.Slipway({"status", first});
  EXPECT_EQ(ready.status.code, 0);
  EXPECT_THAT(ready.output, HasSubstr("created"));
  EXPECT_THAT(ready.output, HasSubstr("resume " + first));
  EXPECT_EQ(place.Slipway({"resume", first}).status.code, 0);
  EXPECT_THAT(place.Slipway({"status", first}).output, Not(HasSubstr("ready")));

  const auto second = make();
  EXPECT_EQ(place.Slipway({"cancel", second}).status.code, 0);
  const auto cancelled = place.Slipway({"status", second});
  EXPECT_EQ(cancelled.status.code, 130);
  EXPECT_THAT(cancelled.output, HasSubstr("cancelled before it began"));
}

/// A run as far as `ls` looks at it.
void WriteRun(const Workplace& place, const std::string& id, const std::string& created) {
  const Json state{{"run", id},
                   {"name", "made"},
                   {"phase", "succeeded"},
                   {"ensemble", false},
                   {"attempt", 1},
                   {"created", created},
                   {"started", created},
                   {"ended", created},
                   {"cause", {{"kind", "completed"}}},
                   {"reason", ""},
                   {"detail", ""},
                   {"host", ""},
                   {"manager", {{"pid", 0}, {"start_time", 0}, {"boot_id", ""}}},
                   {"job", {{"pid", 0}, {"start_time", 0}, {"boot_id", ""}}}};
  place.Write("runs/" + id + "/state.json", state.dump());
}

TEST(ListOfRuns, SaysHowManyItLeavesOut) {
  Workplace place;
  for (int i = 10; i < 35; ++i) {
    WriteRun(place, fmt::format("made-202611{}-120000-aaaa", i), fmt::format("2026-11-{}T12:00:00.000Z", i));
  }
  const auto listed = place.Slipway({"ls"});
  EXPECT_THAT(listed.output, HasSubstr("the newest 20 of 25 runs; all: --limit 25"));
  EXPECT_EQ(Json::parse(place.Slipway({"ls", "--json"}).output)["total"], 25);
  EXPECT_THAT(place.Slipway({"ls", "--limit", "25"}).output, Not(HasSubstr("the newest")));
}

TEST(ListOfRuns, KeepsTheOrderOfThoseOfOneSecond) {
  Workplace place;
  WriteRun(place, "made-20261122-120000-0003", "2026-11-22T12:00:00.100Z");
  WriteRun(place, "made-20261122-120000-0001", "2026-11-22T12:00:00.200Z");
  WriteRun(place, "another-20261122-120000-0002", "2026-11-22T12:00:00.300Z");
  EXPECT_EQ(place.Slipway({"ls", "-q"}).output,
            "made-20261122-120000-0003\nmade-20261122-120000-0001\nanother-20261122-120000-0002\n");
}

TEST(ListOfRuns, OfAFolderThatCannotBeReadIsAnError) {
  Workplace place;
  place.Write("runs", "no folder");
  const auto listed = place.Slipway({"ls"});
  EXPECT_EQ(listed.status.code, 3) << listed.output;
  EXPECT_THAT(listed.errors, HasSubstr("cannot read the runs in"));
  EXPECT_EQ(place.Slipway({"ls", "--runs-dir", "nowhere"}).status.code, 0);
}

/// Its Python is asked for its packages while there is a folder and no manager.
class NewRun : public testing::TestWithParam<const char*> {};

TEST_P(NewRun, LeavesNothingBehindWhenItIsAskedToEndBeforeItsManagerBegins) {
  const Workplace place;
  const auto python = place / "python3";
  place.Write("python3", fmt::format("#!/bin/sh\ncd {}\ntouch asked\nwhile ! test -e go; do sleep 0.01; done\n",
                                     (place / "").string()));
  fs::permissions(python, fs::perms::owner_all);
  place.WriteSpec("exp.yaml", fmt::format("[{}, '-c', pass]", python.string()));
  auto run = place.Start({GetParam(), "exp.yaml"});
  place.WaitForFile(place / "asked");
  EXPECT_FALSE(fs::is_empty(place / "runs"));
  run.Signal(SIGTERM);
  place.Write("go", "");
  EXPECT_EQ(run.Wait().signal, SIGTERM);
  EXPECT_TRUE(fs::is_empty(place / "runs"));
}

INSTANTIATE_TEST_SUITE_P(Commands, NewRun, testing::Values("run", "submit"));

/// A folder that cannot be finished is not left for others to wonder about.
TEST(RefusedRun, LeavesNothingBehind) {
  Workplace place;
  place.WriteSpec("exp.yaml", "['true']");
  fs::create_directory(place / "runs");
  // With no room for a file of more than a few bytes plan.json cannot be written.
  const auto program = fs::path(SLIPWAY_BUILD_DIR) / "bin/slipway";
  const auto script = fmt::format("ulimit -f 4; trap '' XFSZ; exec {} run exp.yaml", program.string());
  const auto ran = RunAndCapture({.argv = {"sh", "-c", script}, .working_directory = place / ""});
  EXPECT_NE(ran.status.code, 0);
  EXPECT_TRUE(fs::is_empty(place / "runs")) << ran.output << ran.errors;
}

/// A run that prints a line and goes on, followed by `slipway logs -f`.
class FollowedRun : public testing::Test {
 protected:
  FollowedRun() {
    place_.WriteSpec("exp.yaml", "[sh, -c, 'echo begun; touch started; sleep 600']");
    EXPECT_EQ(place_.Slipway({"submit", "exp.yaml"}).status.code, 0);
    place_.WaitForFile(place_ / "started");
  }

  const Workplace place_;
};

TEST_F(FollowedRun, ShowsLinesOfWhichNoEventTells) {
  auto logs = place_.Start({"logs", "-f"});
  place_.WaitForWords("[0] begun");
  // As another host writes: the kernel reports a write only to who watches the folder of the name that was opened.
  fs::create_hard_link(place_.RunFolder() / "attempt-1" / "rank-00000.log", place_ / "same.log");
  std::ofstream(place_ / "same.log", std::ios::app) << "written elsewhere\n" << std::flush;
  place_.WaitForWords("[0] written elsewhere");
  EXPECT_EQ(place_.Slipway({"cancel", "last"}).status.code, 0);
  EXPECT_EQ(logs.Wait().code, 0);
}

TEST_F(FollowedRun, EndsWhenItsManagerOnAnotherHostIsGone) {
  const auto file = place_.RunFolder() / "state.json";
  auto state = Json::parse(ReadFile(file));
  ASSERT_EQ(state["phase"], "running");
  state["host"] = "elsewhere";
  WriteFileAtomically(file, state.dump());
  auto logs = place_.Start({"logs", "-f"});
  place_.WaitForWords("[0] begun");  // so it has seen the lock held
  EXPECT_EQ(::kill(state["manager"]["pid"].get<pid_t>(), SIGKILL), 0);
  EXPECT_TRUE(logs.WaitFor(std::chrono::minutes(1)).has_value());
  const auto seen = place_.Slipway({"explain", "last"}).output;
  EXPECT_THAT(seen, HasSubstr("on elsewhere) may be gone"));
}

}  // namespace
}  // namespace slipway::test
