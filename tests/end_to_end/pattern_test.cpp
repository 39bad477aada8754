// A pattern of metrics that finds nothing: it is told while the program runs, at its end, and by `explain`.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/end_to_end/workplace.h"

namespace slipway::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr auto kOtherWords = "[sh, -c, 'echo Epoch 1: Loss = 0.5; echo Epoch 2: Loss = 0.4']";
constexpr auto kWrongPattern = "  metrics: {from: stdout, pattern: 'loss: (?<loss>\\S+)'}\n";

TEST(Pattern, ThatNeverMatchesIsToldAtTheEndAndExplained) {
  Workplace place;
  place.WriteSpec("exp.yaml", kOtherWords, 1, kWrongPattern);
  const auto ran = place.Slipway({"run", "exp.yaml"});
  EXPECT_EQ(ran.status.code, 0);
  EXPECT_THAT(ran.errors, HasSubstr("warning: the pattern of train.metrics matches none of the 2 lines of rank 0"));
  const auto explained = place.Slipway({"explain", "last"});
  EXPECT_THAT(explained.output,
              AllOf(HasSubstr("matches none of the 2 lines"), HasSubstr("the pattern: loss: (?<loss>\\S+)"),
                    HasSubstr("a line near it: Epoch 1: Loss = 0.5"), HasSubstr("mend train.metrics.pattern")));
  EXPECT_THAT(place.Status()["detail"].get<std::string>(), HasSubstr("matches none of the 2 lines"));
}

TEST(Pattern, ThatNeverMatchesANumberIsTold) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'echo loss: 0.5s']", 1, kWrongPattern);
  const auto ran = place.Slipway({"run", "exp.yaml"});
  EXPECT_THAT(ran.errors, HasSubstr("matches 1 of the 1 line of rank 0, but 'loss' was never a number: '0.5s'"));
}

/// The program prints, and ends when it is told to.
void ExpectWarningWhileRuns(const std::string& prints, const std::string& warning) {
  Workplace place;
  place.WriteSpec(
      "exp.yaml",
      fmt::format("[sh, -c, 'for i in $(seq 120); do {}; done; while test ! -e go; do sleep 0.05; done']", prints), 1,
      kWrongPattern);
  auto run = place.Start({"run", "exp.yaml"});
  place.WaitForWords(warning);
  place.Write("go", "");
  EXPECT_EQ(run.Wait().code, 0);
}

TEST(Pattern, ThatFindsNothingIsToldWhileTheProgramRuns) {
  ExpectWarningWhileRuns("echo Loss = $i",
                         "warning: the pattern of train.metrics matches none of the 100 lines of rank 0");
}

TEST(Pattern, ThatFindsNothingInAProgressBarIsToldWhileItsLineIsOpen) {
  ExpectWarningWhileRuns("printf \"\\rLoss = $i\"", "warning: the pattern of train.metrics matches none of the 1");
}

TEST(Pattern, ThatFindsItsMetricsIsNoWarning) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'echo begin; echo loss: pending; echo loss: 0.5']", 1, kWrongPattern);
  const auto ran = place.Slipway({"run", "exp.yaml"});
  EXPECT_THAT(ran.errors, Not(HasSubstr("warning")));
  EXPECT_THAT(place.Slipway({"explain", "last"}).output, Not(HasSubstr("pattern")));
}

}  // namespace
}  // namespace slipway::test
