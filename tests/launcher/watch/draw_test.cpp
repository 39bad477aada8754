// The screen of `slipway watch`.

#include "launcher/watch/draw.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/terminal_columns.h"
#include "tests/launcher/watch/models.h"

namespace slipway::launcher::watch {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string TextOf(const Model& model, Screen screen = {}) { return Draw(screen, model).Text(); }

TEST(WatchScreen, ShowsASingleRun) {
  const auto text = TextOf(ModelOf(SmallSingle()));
  EXPECT_THAT(text, HasSubstr("train-1  running  2m00s"));
  EXPECT_THAT(text, HasSubstr("queued 20.0 s  ›  staging 10.0 s  ›  running 2m00s"));
  EXPECT_THAT(text, HasSubstr("1 of 1 datasets, 12.0 MB; train: ram in 10.0 s"));
  EXPECT_THAT(text, HasSubstr("step 50  1 steps/s"));
  EXPECT_THAT(text, HasSubstr("step 40, 2.00 MB in 500 ms, 20.0 s ago"));
  EXPECT_THAT(text, HasSubstr("loss  0.1  from 0.1 to 1"));
  EXPECT_THAT(text, HasSubstr("? help  q quit"));
}

TEST(WatchScreen, ShowsTheFirstMetricsAndTheLossBeforeThem) {
  auto run = SmallSingle();
  const auto loss = run.curves.front();
  run.curves.clear();
  for (const char* name : {"m_a", "m_b", "m_c", "m_d", "m_e", "m_f", "loss"}) {
    run.curves.push_back(loss);
    run.curves.back().metric = name;
  }
  const auto text = TextOf(ModelOf(run));
  const auto has_line = [](const std::string& name) { return testing::ContainsRegex(name + " +0\\.1 {9}"); };
  for (const char* name : {"loss", "m_a", "m_b", "m_c"}) EXPECT_THAT(text, has_line(name));
  for (const char* name : {"m_d", "m_e", "m_f"}) EXPECT_THAT(text, Not(has_line(name)));
}

TEST(WatchScreen, SaysHowLongALimitAndACheckpointAreAway) {
  auto model = ModelOf(SmallSingle());
  auto data = std::make_shared<WatchData>(*model.data);
  data->plan = {{"train", "valid"}, 600.0, 60.0};
  const auto text = TextOf(WithData(model, data));
  EXPECT_THAT(text, HasSubstr("1 of 2 datasets"));
  EXPECT_THAT(text, HasSubstr("time limit in 8m00s"));
  EXPECT_THAT(text, HasSubstr("next in about 40.0 s"));
}

/// UUID and host do not matter here.
MeasuredGpu HalfUsed() {
  MeasuredGpu gpu;
  gpu.memory_bytes = 80'000'000'000;
  gpu.memory_used_bytes = 41'200'000'000;
  gpu.memory_peak_bytes = 71'000'000'000;
  gpu.utilisation = 0.93;
  gpu.mean_utilisation = 0.5;
  gpu.measured_s = 10;
  return gpu;
}

TEST(WatchScreen, ShowsMemoryAndUtilisationOfGpus) {
  auto run = SmallSingle();
  run.gpus = {HalfUsed(), MeasuredGpu{}};
  run.gpus[1].utilisation = 0;
  const auto text = TextOf(ModelOf(run));
  EXPECT_THAT(text, HasSubstr("gpu 0       41.2 GB of 80.0 GB, 93 % busy"));
  EXPECT_THAT(text, HasSubstr("gpu 1       0 % busy"));
  run.gpus[1].utilisation.reset();
  EXPECT_THAT(TextOf(ModelOf(run)), HasSubstr("gpu 1       does not answer"));
  run.phase = Phase::kSucceeded;
  EXPECT_THAT(TextOf(ModelOf(run)), HasSubstr("gpu 0       at most 71.0 GB of 80.0 GB, 50 % busy on average"));
}

TEST(WatchScreen, SumsUpTheGpusThatHaveNoLine) {
  auto run = SmallEnsemble();
  run.gpus.assign(8, HalfUsed());
  run.gpus[6].utilisation = 0.01;
  run.gpus[7].utilisation.reset();
  run.gpus[2].mean_utilisation = 0.25;
  const auto text = TextOf(ModelOf(run));
  EXPECT_THAT(text, HasSubstr("gpu 3       41.2 GB of 80.0 GB, 93 % busy"));
  EXPECT_THAT(text, HasSubstr("gpus        4 more: up to 41.2 GB of 80.0 GB, 62 % busy"));
  EXPECT_THAT(text, HasSubstr("least busy  gpu 6  41.2 GB of 80.0 GB, 1 % busy"));
  EXPECT_THAT(text, Not(HasSubstr("gpu 4")));
  run.phase = Phase::kSucceeded;
  const auto at_end = TextOf(ModelOf(run));
  EXPECT_THAT(at_end, HasSubstr("gpus        4 more: at most 71.0 GB of 80.0 GB, 50 % busy on average"));
  EXPECT_THAT(at_end, HasSubstr("least busy  gpu 2  at most 71.0 GB of 80.0 GB, 25 % busy on average"));
}

TEST(WatchScreen, NamesNoLeastBusyGpuWhereNoneAnswers) {
  auto run = SmallSingle();
  run.gpus.assign(5, MeasuredGpu{});
  const auto text = TextOf(ModelOf(run));
  EXPECT_THAT(text, HasSubstr("gpus        1 more: does not answer"));
  EXPECT_THAT(text, Not(HasSubstr("least busy")));
}

/// Two GPUs on each node; those of "n2" are idle.
RunView RunOnNodes(int nodes) {
  auto run = SmallSingle();
  for (int node = 1; node <= nodes; ++node) {
    for (const double use : {0.4, 0.6}) {
      auto gpu = HalfUsed();
      gpu.host = "n" + std::to_string(node);
      gpu.utilisation = node == 2 ? 0 : use;
      run.gpus.push_back(gpu);
    }
  }
  run.gpus[1].memory_used_bytes = 50'000'000'000;
  return run;
}

TEST(WatchScreen, ShowsGpusNodeByNode) {
  auto run = RunOnNodes(2);
  const auto text = TextOf(ModelOf(run));
  EXPECT_THAT(text, HasSubstr("gpus        n1  2: up to 50.0 GB of 80.0 GB, 50 % busy"));
  EXPECT_THAT(text, HasSubstr("gpus        n2  2: up to 41.2 GB of 80.0 GB, 0 % busy"));
  run.phase = Phase::kSucceeded;
  EXPECT_THAT(TextOf(ModelOf(run)), HasSubstr("n2  2: at most 71.0 GB of 80.0 GB, 50 % busy on average"));
}

TEST(WatchScreen, SumsUpTheGpusOfManyNodes) {
  const auto text = TextOf(ModelOf(RunOnNodes(1000)));
  EXPECT_THAT(text, HasSubstr("gpus        2000 on 1000 nodes: up to 50.0 GB of 80.0 GB, 50 % busy"));
  EXPECT_THAT(text, HasSubstr("least busy  n2  up to 41.2 GB of 80.0 GB, 0 % busy"));
  EXPECT_THAT(text, Not(HasSubstr("n3")));
}

TEST(WatchScreen, ShowsAnEnsemble) {
  const auto text = TextOf(ModelOf(SmallEnsemble()));
  EXPECT_THAT(text, HasSubstr("running 2  complete 2  failed 1"));
  EXPECT_THAT(text, HasSubstr("30 %  3 of 10 trials  about 1m30s left"));
  EXPECT_THAT(text, HasSubstr("loss 0.125  trial 2  lr=0.75 opt=adam"));
  EXPECT_THAT(text, HasSubstr("best so far"));
  EXPECT_THAT(text, HasSubstr("n2:1"));
}

TEST(WatchScreen, ShowsSparklinesBesidePlaces) {
  auto model = ModelOf(SmallEnsemble());
  auto data = std::make_shared<WatchData>(*model.data);
  data->sparks[4] = {1, 2, 3};
  EXPECT_THAT(TextOf(Press(WithData(model, data), "3")), HasSubstr("n1:1"));
  EXPECT_THAT(TextOf(Press(WithData(model, data), "3")), HasSubstr("▁▅█"));
}

TEST(WatchScreen, ShowsWhoHoldsTheOthersUp) {
  auto model = ModelOf(SmallSingle());
  auto data = std::make_shared<WatchData>(*model.data);
  data->finding = "rank 0 waited 60.0 s: rank 1 is stopped";
  data->ranks[1].culprit = true;
  data->ranks[1].state = "stopped";
  data->ranks[1].last_call = "slipway_allreduce";
  data->ranks[0].steps = RankSteps{0, "n1", 0.1, 0.05, 0.04, 0.04, 0};
  const auto text = TextOf(Press(WithData(model, data), "3"), {24, 140});
  EXPECT_THAT(text, HasSubstr("rank 0 waited 60.0 s: rank 1 is stopped"));
  EXPECT_THAT(text, HasSubstr("holds the others up; last: slipway_allreduce"));
  EXPECT_THAT(text, HasSubstr("100.0"));
}

TEST(WatchScreen, EndsTheTimeOfALostRunWithItsLastSign) {
  auto run = SmallSingle();
  run.phase = Phase::kLost;
  run.phases.back().to = kNow - 90;
  run.curves.front().time.back() = kNow - 60;  // of a run that began 120 s ago
  run.checkpoints.clear();
  auto model = ModelOf(run);
  model.now = kNow + 3600;
  EXPECT_THAT(TextOf(model), HasSubstr("train-1  lost  1m00s"));
}

TEST(WatchScreen, EndsTheTimesOfTrialsWithALostRun) {
  auto run = SmallEnsemble();
  run.phase = Phase::kLost;
  run.phases = {{"running", kNow - 120, kNow - 30, 1}};
  auto model = ModelOf(run);
  const auto before = TextOf(Press(model, "2"));
  EXPECT_THAT(before, HasSubstr("running"));
  model.now = kNow + 3600;
  EXPECT_EQ(TextOf(Press(model, "2")), before);
}

TEST(WatchScreen, SaysThatARunIsLost) {
  auto run = SmallSingle();
  run.phase = Phase::kLost;
  run.reason = "its manager is gone";
  const auto text = TextOf(ModelOf(run));
  EXPECT_THAT(text, HasSubstr("train-1  lost"));
  EXPECT_THAT(text, HasSubstr("its manager is gone"));
}

TEST(WatchScreen, OffersToCancelOnlyWhatHasNotEnded) {
  auto ended = SmallEnsemble();
  EXPECT_THAT(TextOf(ModelOf(ended)), HasSubstr("c cancel"));
  ended.phase = Phase::kSucceeded;
  for (const auto* page : {"1", "2", "3", "4"}) {
    const auto text = TextOf(Press(ModelOf(ended), page));
    EXPECT_THAT(text, testing::AllOf(HasSubstr("q quit"), Not(HasSubstr("c cancel")))) << page;
  }
  EXPECT_THAT(TextOf(WorkflowModel()), HasSubstr("c cancel"));
  EXPECT_THAT(TextOf(ListModel()), HasSubstr("c cancel"));
  EXPECT_THAT(TextOf(Press(ListModel(), "j")), Not(HasSubstr("c cancel"))) << "the second run has ended";
}

TEST(WatchScreen, ListsRuns) {
  const auto text = TextOf(ListModel());
  EXPECT_THAT(text, HasSubstr("2 runs"));
  EXPECT_THAT(text, HasSubstr("rank 1 fa"));
  EXPECT_THAT(text, Not(HasSubstr("1 overview")));
}

TEST(WatchScreen, ListsTheStepsOfAWorkflow) {
  const auto text = TextOf(WorkflowModel());
  EXPECT_THAT(text, HasSubstr("flow-1  running  5m00s"));
  EXPECT_THAT(text, HasSubstr("1 running, 1 waiting of 4 steps"));
  EXPECT_LT(text.find("search"), text.find("check")) << "those that run come first";
  EXPECT_THAT(text, HasSubstr("1m30s"));
  EXPECT_THAT(text, HasSubstr("exit status 3"));
  auto model = Press(WorkflowModel(), "jl");
  auto data = std::make_shared<WatchData>(*model.data);
  data->log.file = "/runs/flow-1/steps/check/log";
  data->log.exists = true;
  data->log.lines = {"no such file"};
  const auto log = TextOf(WithData(model, data));
  EXPECT_THAT(log, HasSubstr("log of step check"));
  EXPECT_THAT(log, HasSubstr("steps/check/log"));
  EXPECT_THAT(log, HasSubstr("no such file"));
}

TEST(WatchScreen, FollowsTheEndOfALog) {
  auto model = Press(ModelOf(SmallSingle()), "l");
  auto data = std::make_shared<WatchData>(*model.data);
  data->log.file = "/runs/train-1/attempt-1/rank-00000.log";
  data->log.exists = true;
  for (int i = 0; i < 100; ++i) data->log.lines.push_back("line " + std::to_string(i));
  model = WithData(model, data);
  EXPECT_THAT(TextOf(model), HasSubstr("line 99"));
  EXPECT_THAT(TextOf(model), Not(HasSubstr("line 50")));
  const auto scrolled = TextOf(Press(model, "g"));
  EXPECT_THAT(scrolled, HasSubstr("line 0\n"));
  EXPECT_THAT(scrolled, Not(HasSubstr("line 99")));
}

TEST(WatchScreen, AsksAtTheBottom) {
  const auto model = Press(ModelOf(SmallSingle()), "c");
  EXPECT_THAT(TextOf(model), HasSubstr("cancel train-1? y: yes, any other key: no"));
}

TEST(WatchScreen, SaysPolitelyThatATerminalIsTooSmall) {
  const auto text = TextOf(ModelOf(SmallSingle()), {6, 39});
  EXPECT_THAT(text, HasSubstr("This terminal has 39 x 6 characters"));
  EXPECT_THAT(text, HasSubstr("needs 40 x 10"));
  EXPECT_THAT(text, HasSubstr("slipway status"));
  EXPECT_EQ(TextOf(ModelOf(SmallSingle()), {0, 0}), "");
}

RunView Hostile(RunView run) {
  const std::string bad = "\x1b]0;x\x07\x1b[2J\xff\u202e漢\n\r\t\x9b";
  run.run += bad;
  run.name = run.reason = bad;
  run.warnings = {bad};
  run.events.push_back({-1e300, bad, bad});
  for (auto& curve : run.curves) curve.metric = bad;
  run.objectives.push_back({bad, bad, ensemble::Goal::kMinimize});
  if (run.objectives.front().name.empty() || run.ensemble) run.objectives.front().name = bad;
  if (run.trials) run.trials->place[3] = run.trials->reason[1] = run.trials->parameters[0].first = bad;
  if (run.trials) run.trials->parameters[1].second[0] = bad;
  return run;
}

/// Every page in every size: nothing leaves the screen, and no control character reaches it.
TEST(WatchScreen, KeepsHostileTextWithinAnySize) {
  for (auto model :
       {ModelOf(Hostile(SmallSingle())), ModelOf(Hostile(SmallEnsemble())), ListModel(), WorkflowModel()}) {
    for (const auto* keys : {"", "2", "3", "4", "l", "?", "c", "/x"}) {
      for (const Screen screen : {Screen{1, 1}, {10, 40}, {12, 69}, {24, 80}, {60, 300}}) {
        const auto frame = Draw(screen, Press(model, keys));
        ASSERT_EQ(frame.rows(), screen.rows);
        for (int row = 0; row < frame.rows(); ++row) {
          ASSERT_LE(WidthOf(frame.Line(row)), screen.columns);
          for (int column = 0; column < frame.columns(); ++column) {
            const auto c = frame.at(row, column).glyph[0];
            ASSERT_FALSE((c > 0 && c < 0x20) || (c >= 0x7f && c < 0xa0) || c == 0x202e) << static_cast<int>(c);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace slipway::launcher::watch
