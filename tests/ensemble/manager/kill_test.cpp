// A manager in its own process, real trials, and kill -9 everywhere. The full count: `slipway bench ensemble --part
// kills`.
#include <gmock/gmock.h>
#include <signal.h>

#include <ostream>
#include <random>

#include "bench/ensemble/killed_study.h"
#include "ensemble/manager/crash_point.h"
#include "tests/support/temp_directory.h"

namespace slipway::ensemble {

void PrintTo(const KillPlan& plan, std::ostream* to) { *to << plan.name; }

namespace {

using test::TempDirectory;
using testing::IsEmpty;

constexpr ExitStatus kEndedWell = {0, 0};
constexpr ExitStatus kKilled = {0, SIGKILL};

KilledStudy Study(const TempDirectory& folder, const KillPlan& plan) {
  return {MANAGER_PROCESS, folder / plan.name, plan};
}

/// Trials pause at rungs, go on, and are asked for from beside: every place is passed several times.
KillPlan Busy() {
  return {.name = "busy", .trials = 16, .parallel = 2, .scheduler = "asha", .steps = 3, .enqueued = 3};
}

class KilledManager : public testing::TestWithParam<std::string> {};

TEST_P(KilledManager, LosesNothingAndRunsNothingTwice) {
  TempDirectory folder;
  auto study = Study(folder, Busy());
  for (const char* time : {":1", ":2", ":1"}) {
    study.Enqueue();
    const bool once = GetParam() == "after_answer_commit";  // all that wait are answered at once
    EXPECT_EQ(study.Run(GetParam() + (once ? ":1" : time)), kKilled) << "it must reach the place";
    EXPECT_THAT(study.Check(), IsEmpty());
  }
  EXPECT_EQ(study.Run(), kEndedWell);
  EXPECT_THAT(study.CheckAtEnd(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Everywhere, KilledManager, testing::ValuesIn(CrashPoints()),
                         [](const auto& point) { return point.param; });

/// Kills at random moments until the study is over or `kills` have hit; returns how many did.
int KillAtAnyTime(KilledStudy& study, int kills, std::mt19937& random) {
  int killed = 0;
  for (int kill = 0; kill < kills; ++kill) {
    study.Enqueue();
    const auto delay = std::chrono::milliseconds(std::uniform_int_distribution<>(3, 40)(random));
    const auto status = study.RunFor(delay);
    EXPECT_THAT(status, testing::AnyOf(kEndedWell, kKilled));
    if (status == kKilled) ++killed;
    EXPECT_THAT(study.Check(), IsEmpty());
  }
  EXPECT_EQ(study.Run(), kEndedWell);
  EXPECT_THAT(study.CheckAtEnd(), IsEmpty());
  return killed;
}

TEST(KilledManagerAtAnyTime, LosesNothingAndRunsNothingTwice) {
  TempDirectory folder;
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  auto study = Study(folder, {.name = "many", .trials = 90, .parallel = 3, .sampler = "grid", .enqueued = 5});
  EXPECT_GE(KillAtAnyTime(study, 10, random), 3) << "too fast to be killed: the test shows nothing";
}

class KilledSequentialStudy : public testing::TestWithParam<KillPlan> {};

TEST_P(KilledSequentialStudy, BecomesWhatItWouldHaveBeen) {
  TempDirectory folder, undisturbed;
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  auto study = Study(folder, GetParam()), expected = Study(undisturbed, GetParam());
  EXPECT_GE(KillAtAnyTime(study, 10, random), 3) << "too fast to be killed: the test shows nothing";
  EXPECT_EQ(expected.Run(), kEndedWell);
  EXPECT_THAT(expected.CheckAtEnd(), IsEmpty());
  EXPECT_THAT(study.Compare(expected), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Of, KilledSequentialStudy,
    testing::Values(KillPlan{.name = "tpe", .trials = 30, .sampler = "tpe", .stubborn = false},
                    KillPlan{.name = "asha", .trials = 18, .scheduler = "asha", .steps = 9, .stubborn = false}),
    [](const auto& plan) { return plan.param.name; });

}  // namespace
}  // namespace slipway::ensemble
