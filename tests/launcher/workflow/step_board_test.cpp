#include "launcher/workflow/step_board.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "tests/launcher/workflow/workflow_of.h"

namespace slipway::launcher {
namespace {

using enum StepState;
using test::GraphOf;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(StepBoard, AStepIsReadyWhenAllThatItNeedsIsThere) {
  const auto workflow = GraphOf({{}, {}, {0, 1}});
  StepBoard board(workflow);
  EXPECT_THAT(board.TakeReady(), ElementsAre(0, 1));
  board.Start(0);
  board.Settle(0, kDone);
  EXPECT_THAT(board.TakeReady(), IsEmpty());
  board.Settle(1, kReused);
  EXPECT_THAT(board.TakeReady(), ElementsAre(2));
}

TEST(StepBoard, AFailureBlocksDependantsOnly) {
  const auto workflow = GraphOf({{}, {0}, {1}, {}});
  StepBoard board(workflow);
  EXPECT_THAT(board.Settle(0, kFailed), ElementsAre(1, 2));
  EXPECT_EQ(board.at(2), kBlocked);
  EXPECT_EQ(board.at(3), kReady);
  EXPECT_EQ(board.left(), 1u);
}

TEST(StepBoard, ASkippedStepSkipsItsDependants) {
  const auto workflow = GraphOf({{}, {0}});
  StepBoard board(workflow);
  EXPECT_THAT(board.Settle(0, kSkipped), ElementsAre(1));
  EXPECT_EQ(board.at(1), kSkipped);
  EXPECT_TRUE(board.IsOver());
}

TEST(StepBoard, RefusesWaysThatThereAreNone) {
  const auto workflow = GraphOf({{}, {0}});
  StepBoard board(workflow);
  EXPECT_THROW(board.Start(1), Error);
  EXPECT_THROW(board.Settle(0, kRunning), Error);
  board.Settle(0, kDone);
  EXPECT_THROW(board.Settle(0, kDone), Error);
}

/// Any graph without cycles: each step needs earlier ones.
std::vector<std::vector<StepIndex>> AnyNeeds() {
  std::vector<std::vector<StepIndex>> needs(*rc::gen::inRange<std::size_t>(1, 30));
  for (StepIndex step = 1; step < needs.size(); ++step) {
    for (StepIndex need = 0; need < step; ++need) {
      if (*rc::gen::inRange(0, 4) == 0) needs[step].push_back(need);
    }
  }
  return needs;
}

RC_GTEST_PROP(StepBoard, EveryStepEndsOnceAndAfterThoseThatItNeeds, ()) {
  const auto workflow = GraphOf(AnyNeeds());
  StepBoard board(workflow);
  std::vector<StepIndex> open;
  while (!board.IsOver()) {
    for (const auto step : board.TakeReady()) open.push_back(step);
    RC_ASSERT(!open.empty());
    const auto at = *rc::gen::inRange<std::size_t>(0, open.size());
    const auto step = open[at];
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(at));
    for (const auto need : workflow.needs[step]) RC_ASSERT(HasResult(board.at(need)));
    board.Start(step);
    board.Settle(step, *rc::gen::inRange(0, 8) == 0 ? kFailed : kDone);
  }
  for (StepIndex step = 0; step < workflow.steps.size(); ++step) {
    const bool has_all =
        std::ranges::all_of(workflow.needs[step], [&](auto need) { return HasResult(board.at(need)); });
    RC_ASSERT((board.at(step) == kBlocked) == !has_all);
  }
}

}  // namespace
}  // namespace slipway::launcher
