// Keys of `slipway watch`.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/launcher/watch/models.h"

namespace slipway::launcher::watch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(WatchKeys, SwitchBetweenPages) {
  auto model = ModelOf(SmallEnsemble());
  EXPECT_EQ(Press(model, "2").page, Page::kTrials);
  EXPECT_EQ(Press(model, "3").page, Page::kPlaces);
  EXPECT_EQ(Press(model, "9").page, Page::kOverview) << "there are four";
  EXPECT_EQ(Press(model, KeyCode::kTab).page, Page::kTrials);
  EXPECT_EQ(Press(model, KeyCode::kBackTab).page, Page::kEvents);
  EXPECT_EQ(Press(ModelOf(SmallSingle()), "3").page, Page::kRanks);
}

TEST(WatchKeys, SortAndReverse) {
  auto model = Press(ModelOf(SmallEnsemble()), "2");
  EXPECT_THAT(model.list().order, ElementsAre(2, 0, 1, 3, 4)) << "by rank";
  EXPECT_THAT(Press(model, "r").list().order, ElementsAre(0, 2, 1, 3, 4)) << "those without a rank stay last";
  EXPECT_THAT(Press(model, "s").list().order, ElementsAre(0, 1, 2, 3, 4)) << "by number";
  EXPECT_THAT(Press(model, "sssss").list().order, ElementsAre(0, 1, 4, 2, 3)) << "by place";
}

TEST(WatchKeys, FilterByWordsAndParameters) {
  auto model = Press(ModelOf(SmallEnsemble()), "2/");
  EXPECT_THAT(Press(model, "COMPLETE n2").list().order, ElementsAre(2));
  EXPECT_THAT(Press(model, "opt=sgd").list().order, ElementsAre(1, 3));
  EXPECT_TRUE(Press(model, "nothing").list().order.empty());
  auto kept = Press(Press(model, "faileq"), KeyCode::kBackspace);
  kept = Press(kept, KeyCode::kEnter);
  EXPECT_FALSE(kept.editing_filter);
  EXPECT_EQ(kept.list().filter, "faile");
  EXPECT_EQ(Press(Press(kept, "/"), KeyCode::kEscape).list().filter, "");
}

TEST(WatchKeys, KeepTheSelectedTrialWhereverItMoves) {
  auto model = Press(Press(ModelOf(SmallEnsemble()), "2"), "j");
  EXPECT_EQ(model.list().selected, "0");
  auto run = SmallEnsemble();
  AddTrial(run, "complete", 0.25, "n2:1", 2);
  run.trials->rank[0] = 3;
  model = WithData(model, DataOf(run));
  EXPECT_EQ(model.list().cursor, 2u);
  EXPECT_EQ(Press(model, KeyCode::kEnter).trial, 0);
}

TEST(WatchKeys, ListStepsThatRunFirst) {
  const auto model = WorkflowModel();
  EXPECT_THAT(model.list().order, ElementsAre(1, 2, 3, 0)) << "by state";
  EXPECT_THAT(Press(model, "s").list().order, ElementsAre(0, 1, 2, 3)) << "as in the file";
  EXPECT_THAT(Press(model, "sss").list().order, ElementsAre(0, 2, 1, 3)) << "the longest first";
  EXPECT_THAT(Press(model, "/exit").list().order, ElementsAre(2));
  EXPECT_EQ(InterestOf(model).workflow, "/runs/flow-1");
  EXPECT_TRUE(InterestOf(model).run.empty());
}

TEST(WatchKeys, OpenTheRunOfAStepAndGoBack) {
  const auto opened = Press(WorkflowModel(), KeyCode::kEnter);
  EXPECT_EQ(opened.page, Page::kOverview);
  EXPECT_EQ(opened.run, "/runs/search-1");
  EXPECT_EQ(InterestOf(opened).run, "/runs/search-1");
  EXPECT_TRUE(InterestOf(opened).workflow.empty());
  const auto back = Press(opened, KeyCode::kEscape);
  EXPECT_EQ(back.page, Page::kSteps);
  EXPECT_EQ(back.list().cursor, 0u);
}

TEST(WatchKeys, OpenTheLogOfAStep) {
  for (const auto& opened : {Press(Press(WorkflowModel(), "j"), KeyCode::kEnter), Press(WorkflowModel(), "jl")}) {
    EXPECT_EQ(opened.page, Page::kLog);
    EXPECT_EQ(opened.step, "check");
    EXPECT_EQ(InterestOf(opened).step, "check");
    EXPECT_FALSE(InterestOf(opened).log) << "it is of no rank";
    EXPECT_EQ(Press(opened, "l").back.size(), 1u) << "it is open already";
    const auto back = Press(opened, KeyCode::kEscape);
    EXPECT_EQ(back.page, Page::kSteps);
    EXPECT_TRUE(back.step.empty());
  }
}

TEST(WatchKeys, AskBeforeAWorkflowIsCancelled) {
  const auto asked = Press(WorkflowModel(), "c");
  ASSERT_TRUE(asked.question);
  EXPECT_EQ(Question(*asked.question), "cancel flow-1?");
  EXPECT_THAT(Press(WorkflowModel(), "t").notice, HasSubstr("slipway resume other/flow-1"));
}

TEST(WatchKeys, OpenAWorkflowFromTheListOfRuns) {
  auto model = ListModel();
  auto data = std::make_shared<WatchData>(*model.data);
  data->runs[0].workflow = true;
  model = Press(WithData(model, data), KeyCode::kEnter);
  EXPECT_EQ(model.page, Page::kSteps);
  EXPECT_EQ(model.workflow, "/runs/train-1");
}

TEST(WatchKeys, AskBeforeARunIsCancelled) {
  const auto asked = Press(ModelOf(SmallEnsemble()), "c");
  ASSERT_TRUE(asked.question);
  EXPECT_EQ(Question(*asked.question), "cancel search-1?");
  EXPECT_FALSE(asked.action);
  const auto refused = Press(asked, "n");
  EXPECT_FALSE(refused.action || refused.question);
  EXPECT_EQ(refused.notice, "nothing was changed");
  const auto confirmed = Press(asked, "y");
  ASSERT_TRUE(confirmed.action);
  EXPECT_EQ(confirmed.action->run, "/runs/search-1");
  auto ended = SmallEnsemble();
  ended.phase = Phase::kSucceeded;
  EXPECT_THAT(Press(ModelOf(ended), "c").notice, HasSubstr("has ended already"));
}

TEST(WatchKeys, RetryOnlyTrialsThatMayRunAgain) {
  auto model = Press(ModelOf(SmallEnsemble()), "2");
  EXPECT_THAT(Press(model, "t").notice, HasSubstr("trial 2 is complete"));
  model = Press(model, "jjty");
  ASSERT_TRUE(model.action);
  EXPECT_EQ(model.action->kind, Action::Kind::kRetry);
  EXPECT_EQ(model.action->trial, 1);
  auto run = SmallEnsemble();
  run.trials->state.at(2) = "lost";
  EXPECT_THAT(Press(Press(ModelOf(run), "2"), "t").notice, HasSubstr("slipway resume other/search-1"));
  EXPECT_THAT(Press(ModelOf(SmallSingle()), "t").notice, HasSubstr("slipway resume other/train-1"));
  EXPECT_THAT(Press(ModelOf(SmallEnsemble()), "t").notice, HasSubstr("choose a trial first"));
}

TEST(WatchKeys, OpenTrialsAndLogsAndGoBack) {
  auto model = Press(Press(ModelOf(SmallEnsemble()), "2"), KeyCode::kEnter);
  EXPECT_EQ(model.page, Page::kTrial);
  EXPECT_EQ(InterestOf(model).trial, 2);
  model = Press(model, "l");
  EXPECT_TRUE(InterestOf(model).log);
  model = Press(Press(model, KeyCode::kEscape), KeyCode::kEscape);
  EXPECT_EQ(model.page, Page::kTrials);
  auto rank = Press(Press(Press(ModelOf(SmallSingle()), "3"), "j"), KeyCode::kEnter);
  EXPECT_EQ(rank.page, Page::kLog);
  EXPECT_EQ(rank.rank, 1);
  EXPECT_EQ(Press(rank, KeyCode::kLeft).rank, 0);
  EXPECT_EQ(Press(rank, KeyCode::kRight).rank, 1) << "there are two";
}

TEST(WatchKeys, OpenARunOfTheListAndForgetTheOneBefore) {
  auto model = ListModel();
  EXPECT_TRUE(InterestOf(model).list);
  EXPECT_THAT(Press(model, "jc").notice, HasSubstr("old-1 has ended already: failed"));
  model = Press(model, KeyCode::kEnter);
  EXPECT_EQ(InterestOf(model).run, "/runs/train-1");
  EXPECT_FALSE(model.data->run);
  model = WithData(model, DataOf(SmallEnsemble()));
  EXPECT_FALSE(model.data->run) << "data of another run came late";
  model = WithData(model, DataOf(SmallSingle()));
  EXPECT_TRUE(model.data->run);
  EXPECT_EQ(Press(model, KeyCode::kEscape).page, Page::kRuns);
}

TEST(WatchKeys, HelpQuitAndNothingElse) {
  const auto model = ModelOf(SmallSingle());
  EXPECT_TRUE(Press(model, "?").help);
  EXPECT_FALSE(Press(model, "?q").quit) << "closes the help";
  EXPECT_TRUE(Press(model, "q").quit);
  EXPECT_FALSE(Press(model, "xyzXYZ!").quit);
}

TEST(WatchKeys, DoNothingBeforeAnythingIsRead) {
  Model model;
  model.run = "/runs/x";
  for (const auto code : {KeyCode::kUp, KeyCode::kDown, KeyCode::kPageDown, KeyCode::kEnd, KeyCode::kEnter,
                          KeyCode::kTab, KeyCode::kRight, KeyCode::kEscape}) {
    model = Press(model, code);
  }
  model = Press(model, "1234lcts/r");
  EXPECT_EQ(model.page, Page::kOverview);
  EXPECT_FALSE(model.action || model.question);
}

}  // namespace
}  // namespace slipway::launcher::watch
