// Schedulers on learning curves of real trainings, beside no scheduler with as many epochs.
#include <gmock/gmock.h>

#include <cmath>

#include "bench/schedulers/comparison.h"
#include "bench/schedulers/replay.h"
#include "core/error.h"
#include "core/files.h"
#include "tests/support/temp_directory.h"

namespace slipway::bench {
namespace {

using testing::HasSubstr;

std::vector<RecordedTask> RealCurves() { return ReadCurves(SLIPWAY_SOURCE_DIR "/bench/schedulers/curves.txt"); }

TEST(RecordedCurves, AreOfSeveralTasks) {
  const auto tasks = RealCurves();
  ASSERT_GE(tasks.size(), 3u);
  for (const auto& task : tasks) {
    EXPECT_GE(task.curves.size(), 100u) << task.name;
    EXPECT_GT(task.Best(), 0) << task.name;
  }
}

class OnRecordedCurves : public testing::TestWithParam<std::string> {};

/// Budgets as people have them: with the smallest, less than one trial in all comes to the end by comparisons.
TEST_P(OnRecordedCurves, ASchedulerFindsMoreThanNoneWithAsManyEpochs) {
  SchedulerPlan plan;
  plan.schedulers = {GetParam()};
  for (const auto& row : CompareSchedulers(RealCurves(), plan)) {
    const auto where = row.task + " with " + std::to_string(row.trials);
    EXPECT_GT(row.p_worse, 0.5) << where;
    EXPECT_LE(row.regret, row.regret_of_none) << where;
    EXPECT_LT(row.whole, 0.5 * row.trials) << where;
    EXPECT_GE(row.complete, 1) << where;
  }
}

INSTANTIATE_TEST_SUITE_P(With, OnRecordedCurves, testing::Values("asha", "hyperband"),
                         [](const auto& type) { return type.param; });

TEST(Replay, SpendsWhatTheTrialsSpend) {
  const std::vector<RecordedCurve> curves = {{0.5, 0.4, 0.3}, {0.9, 0.9, 0.1}, {0.8, NAN, NAN}, {0.7, 0.6, 0.5}};
  std::vector<const RecordedCurve*> order;
  for (const auto& curve : curves) order.push_back(&curve);
  ensemble::SchedulerSettings settings;
  settings.goal = ensemble::Goal::kMinimize;
  settings.trials = 4;
  settings.parallel = 2;
  const auto whole = Replay(settings, order);
  EXPECT_EQ(whole.best, 0.1);
  EXPECT_EQ(whole.epochs, 12);
  EXPECT_EQ(whole.complete, 3) << "one diverged";
  EXPECT_EQ(whole.epochs_to_first, 5) << "two at a time";
  settings.type = "asha";
  settings.max = 3;
  settings.reduction = 3;
  const auto halved = Replay(settings, order);
  EXPECT_EQ(halved.best, 0.3) << "the leader after one epoch";
  EXPECT_EQ(halved.epochs, 6);
  EXPECT_EQ(halved.complete, 1);
}

std::string ErrorOfCurves(const std::string& text) {
  const test::TempDirectory folder;
  WriteFile(folder / "curves.txt", text);
  try {
    ReadCurves(folder / "curves.txt");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
    return error.message();
  }
  return "no error";
}

TEST(RecordedCurves, AreRefusedWithTheLineThatIsWrong) {
  EXPECT_EQ(ErrorOfCurves("task a 2\n1 2\n3 nan\n"), "no error");
  EXPECT_THAT(ErrorOfCurves("task a 2\n1 2\n1 2 3\n"), HasSubstr("curves.txt', line 3: not the 2 values of a curve"));
  EXPECT_THAT(ErrorOfCurves("task a 2\n1 x\n"), HasSubstr("line 2"));
  EXPECT_THAT(ErrorOfCurves("1 2\n"), HasSubstr("line 1"));
  EXPECT_THAT(ErrorOfCurves("task a\n"), HasSubstr("a task has a name and epochs"));
  EXPECT_THAT(ErrorOfCurves(""), HasSubstr("no task"));
}

}  // namespace
}  // namespace slipway::bench
