// A check that hangs, crashes or throws is a finding with its name.

#include "launcher/cli/doctor/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "core/error.h"

namespace slipway::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Check, TellsWhatItHasFound) {
  const Findings found{Ok("cores", "2"), Warn("tier ram", "full \xff", "make room"), Fail("slurm", "down", "wait")};
  const auto result = Perform({"all", seconds(60), [&] { return found; }});
  EXPECT_EQ(result.name, "all");
  ASSERT_EQ(result.findings.size(), 3u);
  EXPECT_EQ(result.findings[0], found[0]);
  EXPECT_THAT(result.findings[1].text, HasSubstr("full"));  // in valid UTF-8
  EXPECT_EQ(result.findings[2], found[2]);
}

TEST(Check, ThatHangsHasFailed) {
  const auto result = Perform({"tiers", milliseconds(100), [] {
                                 while (true) ::pause();
                                 return Findings();
                               }});
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings[0].grade, Grade::kFail);
  EXPECT_EQ(result.findings[0].about, "tiers");
  EXPECT_THAT(result.findings[0].text, HasSubstr("did not come to its end in 100"));
  EXPECT_LT(result.took.count(), 60);
}

TEST(Check, ThatIsLateOnABusyMachineIsWhatItSaysOfThat) {
  const auto busy = Warn("memory", "not measured: busy", "top");
  const auto hang = [] {
    while (true) ::pause();
    return Findings();
  };
  EXPECT_THAT(Perform({"memory", milliseconds(100), hang, busy}).findings, ElementsAre(busy));
}

TEST(Check, ThatThrowsHasFailedWithTheReasonAndTheNextStep) {
  const auto result = Perform(
      {"runs", seconds(60), []() -> Findings { throw Error(ErrorKind::kEnvironment, "no such folder", "make it"); }});
  EXPECT_THAT(result.findings, ElementsAre(Fail("runs", "no such folder", "make it")));
}

TEST(Check, ThatCrashesHasFailed) {
  const auto result = Perform({"library", seconds(60), []() -> Findings {
                                 ::raise(SIGKILL);
                                 return {};
                               }});
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings[0].grade, Grade::kFail);
  EXPECT_THAT(result.findings[0].text, HasSubstr("SIGKILL"));
}

TEST(Check, ThatSaysNothingHasFailed) {
  const auto result = Perform({"silent", seconds(60), [] { return Findings(); }});
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings[0].grade, Grade::kFail);
}

TEST(Findings, AreAsBadAsTheWorst) {
  EXPECT_EQ(WorstOf({}), Grade::kOk);
  EXPECT_EQ(WorstOf({Warn("a", "", ""), Ok("b", "")}), Grade::kWarn);
  EXPECT_EQ(WorstOf({Warn("a", "", ""), Fail("b", "", ""), Ok("c", "")}), Grade::kFail);
}

TEST(Findings, AreLinesWithTheirRemediesBelow) {
  EXPECT_EQ(Describe({Ok("cores", "2"), Warn("tier ram", "full", "make room")}),
            "ok    cores     2\n"
            "warn  tier ram  full\n"
            "                -> make room\n");
}

}  // namespace
}  // namespace slipway::launcher
