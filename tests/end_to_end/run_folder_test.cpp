// Run folders that are damaged, copied, or only prepared, as users find them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

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
  EXPECT_THAT(refused.errors, HasSubstr("works on '" + original.string() + "'"));
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

}  // namespace
}  // namespace slipway::test
