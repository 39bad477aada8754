// The value by which lists of runs order a run, and what a single run reported last.

#include "launcher/view/best_of_run.h"

#include <gtest/gtest.h>

#include "core/files.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

TEST(BestOfMetrics, IsTheLossTheOnlyOneOrTheOneThatIsNamed) {
  EXPECT_EQ(BestOfMetrics({{"accuracy", 0.9}, {"loss", 0.3}}, "")->metric, "loss");
  EXPECT_EQ(BestOfMetrics({{"accuracy", 0.9}}, "")->metric, "accuracy");
  EXPECT_FALSE(BestOfMetrics({{"accuracy", 0.9}, {"error", 0.1}}, ""));
  EXPECT_EQ(BestOfMetrics({{"accuracy", 0.9}, {"error", 0.1}}, "error")->value, 0.1);
  EXPECT_FALSE(BestOfMetrics({{"accuracy", 0.9}}, "loss"));
  EXPECT_FALSE(BestOfMetrics({}, ""));
}

TEST(BestOfMetrics, GuessesByTheNameWhetherMoreIsBetter) {
  EXPECT_EQ(BestOfMetrics({{"validation_accuracy", 0.9}}, "")->goal, ensemble::Goal::kMaximize);
  EXPECT_EQ(BestOfMetrics({{"validation_loss", 0.9}}, "")->goal, ensemble::Goal::kMinimize);
  EXPECT_EQ(BestOfMetrics({{"val/mAP", 0.9}}, "val/mAP")->goal, ensemble::Goal::kMaximize);
}

class LastReports : public testing::Test {
 protected:
  void Write(const std::string& text) const {
    MakeDirectories(folder_.attempt(2));
    WriteFile(folder_.attempt(2) / "metrics.jsonl", text);
  }

  test::TempDirectory directory_;
  const RunFolder folder_ = RunFolder::Create(directory_.path(), "small", false);
};

TEST_F(LastReports, JoinTheLastLines) {
  Write(
      "{\"step\":1,\"metrics\":{\"loss\":3,\"lr\":0.1}}\nnonsense\n{\"step\":2,\"metrics\":{\"loss\":2}}\n"
      "{\"step\":2,\"metrics\":{\"accuracy\":0.5}}\n{\"step\":3,\"metr");
  const auto last = LastReportOf(folder_, 2);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->step, 2);
  EXPECT_EQ(last->metrics, (std::map<std::string, double>{{"accuracy", 0.5}, {"loss", 2}, {"lr", 0.1}}));
}

TEST_F(LastReports, HaveNoStepWhereLinesSayNone) {
  Write("{\"metrics\":{\"loss\":3}}\n{\"metrics\":{\"loss\":2}}\n");
  const auto last = LastReportOf(folder_, 2);
  ASSERT_TRUE(last);
  EXPECT_FALSE(last->step);
  EXPECT_EQ(last->metrics.at("loss"), 2);
}

TEST_F(LastReports, AreNoneWithoutAnyLine) {
  EXPECT_FALSE(LastReportOf(folder_, 2));
  Write("nonsense\n");
  EXPECT_FALSE(LastReportOf(folder_, 2));
}

}  // namespace
}  // namespace slipway::launcher
