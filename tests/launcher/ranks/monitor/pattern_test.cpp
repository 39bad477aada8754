#include "launcher/ranks/monitor/pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/clock.h"
#include "core/error.h"
#include "launcher/ranks/monitor/pattern_metrics.h"
#include "launcher/ranks/monitor/unmatched_pattern.h"

namespace slipway::launcher {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;
using testing::Pair;

TEST(Pattern, FindsTextsByName) {
  const Pattern pattern("loss=(?<loss>\\S+) acc=(?<accuracy>\\S+)");
  EXPECT_THAT(pattern.Groups("step 3 loss=0.5 acc=9e-1"),
              Optional(ElementsAre(Pair("accuracy", "9e-1"), Pair("loss", "0.5"))));
  EXPECT_EQ(pattern.Groups("nothing here"), std::nullopt);
  EXPECT_THAT(pattern.Groups("loss=1 acc=2 \xff\xfe"), Optional(testing::SizeIs(2)));
}

TEST(Pattern, TakesWholeTextsAsNumbers) {
  EXPECT_EQ(NumberIn("9e-1"), 0.9);
  EXPECT_EQ(NumberIn("abc"), std::nullopt);
}

TEST(Pattern, GivesUpSoonOnAMadPattern) {
  const Pattern pattern("(?<x>(a+)+)$");
  const auto started = SystemClock().Steady();
  EXPECT_EQ(pattern.Groups(std::string(5000, 'a') + "b"), std::nullopt);
  EXPECT_LT(SystemClock().Steady() - started, std::chrono::seconds(60));
}

TEST(Pattern, NamesThePositionOfAnError) {
  EXPECT_EQ(InspectPattern("a(?<x>b").offset, 7u);
  EXPECT_THAT(InspectPattern("(?<x>1)(?<y>2)").names, ElementsAre("x", "y"));
  try {
    Pattern("a(");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("position 2"));
  }
}

TEST(PatternMetrics, CountStepsUnlessTheLineTellsThem) {
  PatternMetrics counted("x=(?<x>\\S+)");
  EXPECT_EQ(counted.Take("x=1").front().step, 0);
  EXPECT_TRUE(counted.Take("nothing").empty());
  EXPECT_EQ(counted.Take("x=2").front().step, 1);
  PatternMetrics told("(?<step>\\d+)/(?<epoch>\\d+) x=(?<x>\\S+)");
  const auto metrics = told.Take("40/2 x=1");
  ASSERT_EQ(metrics.size(), 1);
  EXPECT_EQ(metrics[0].step, 40);
  EXPECT_EQ(metrics[0].epoch, 2);
  EXPECT_THAT(metrics[0].values, ElementsAre(Pair("x", 1)));
}

TEST(PatternMetrics, CountOnWhereAnEarlierAttemptEnded) {
  PatternMetrics counted("x=(?<x>\\S+)", 7);
  EXPECT_EQ(counted.Take("x=1").front().step, 7);
  EXPECT_EQ(counted.Take("x=1").front().step, 8);
}

std::string WrongIn(const std::string& pattern, std::initializer_list<const char*> lines) {
  PatternMetrics metrics(pattern);
  for (const char* line : lines) metrics.Take(line);
  return WhatIsWrong(metrics.tally());
}

TEST(PatternMetrics, SayWhatIsWrongWithAPatternThatFindsNothing) {
  const std::string pattern = "loss=(?<loss>\\S+)";
  EXPECT_EQ(WrongIn(pattern, {}), "rank 0 printed nothing, so the pattern of train.metrics found nothing");
  EXPECT_EQ(WrongIn(pattern, {"Loss=1", "", "Loss=2"}),
            "the pattern of train.metrics matches none of the 2 lines of rank 0");
  EXPECT_EQ(WrongIn(pattern, {"begin", "loss=0.5s", "loss=0.4s"}),
            "the pattern of train.metrics matches 2 of the 3 lines of rank 0, but 'loss' was never a number: '0.5s'");
  EXPECT_EQ(WrongIn(pattern, {"loss=pending", "loss=0.4"}), "") << "one number is enough";
  EXPECT_EQ(WrongIn(pattern, {"loss=nan"}), "") << "a number that programs print";
}

TEST(NearestLines, HaveTheWordsOfThePatternWhateverTheirCase) {
  const std::vector<std::string> lines = {"starting on 2 GPUs", "Epoch 1: Training Loss = 0.5", "saving model",
                                          "Epoch 2: Training Loss = 0.4", "training took 3 s"};
  EXPECT_THAT(NearestLines("training loss: (?<loss>\\S+)", lines),
              testing::ElementsAre("Epoch 1: Training Loss = 0.5"));
  EXPECT_THAT(NearestLines("accuracy=(?<accuracy>\\S+)", lines), testing::Contains("training took 3 s"))
      << "without a word in common those with numbers";
  EXPECT_THAT(NearestLines("loss", {}), testing::IsEmpty());
}

TEST(PatternMetrics, AreTakenFromEachDrawingOfAProgressBar) {
  PatternMetrics pattern("loss: (?<loss>\\S+)");
  std::vector<double> losses;
  for (const auto& metrics : pattern.Take("\r1/3 loss: 1\r2/3 loss: 0.5\r  \r3/3 loss: 0.25")) {
    losses.push_back(metrics.values.at("loss"));
  }
  EXPECT_THAT(losses, testing::ElementsAre(1, 0.5, 0.25));
}

TEST(PatternMetrics, AreTakenFromColouredWords) {
  PatternMetrics metrics("^epoch (?<epoch>\\d+) loss: (?<loss>\\S+)$");
  const auto found = metrics.Take("\x1b[2K\r\x1b[34mepoch 3\x1b[0m \x1b[1mloss: 0.5\x1b[0m");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].epoch, 3);
  EXPECT_THAT(found[0].values, ElementsAre(Pair("loss", 0.5)));
  EXPECT_EQ(metrics.tally().lines, 1) << "what only clears the line is none";
}

TEST(PatternMetrics, AreTakenFromABarBeforeItsLineEnds) {
  PatternMetrics pattern("loss: (?<loss>\\S+)");
  std::vector<double> losses;
  const auto keep = [&](const std::vector<MetricsLine>& found) {
    for (const auto& metrics : found) losses.push_back(metrics.values.at("loss"));
  };
  keep(pattern.TakeUnfinished("\r1/3 loss: 1\r2/3 lo"));
  EXPECT_THAT(losses, testing::ElementsAre(1));
  keep(pattern.TakeUnfinished("\r1/3 loss: 1\r2/3 loss: 0.5"));
  EXPECT_THAT(losses, testing::ElementsAre(1)) << "it may grow";
  keep(pattern.TakeUnfinished("\r1/3 loss: 1\r2/3 loss: 0.5\r"));
  keep(pattern.Take("\r1/3 loss: 1\r2/3 loss: 0.5"));  // without the last return, as lines are delivered
  EXPECT_THAT(losses, testing::ElementsAre(1, 0.5)) << "each once";
  keep(pattern.Take("loss: 0.25"));
  EXPECT_THAT(losses, testing::ElementsAre(1, 0.5, 0.25)) << "the next line counts from its start";
  EXPECT_EQ(pattern.tally().lines, 3);
}

}  // namespace
}  // namespace slipway::launcher
