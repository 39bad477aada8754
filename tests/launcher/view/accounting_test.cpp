// The parts of the time of nodes sum to the whole, whatever is known of a run.

#include "launcher/view/accounting.h"

#include <gtest/gtest.h>

#include <numeric>

#include "launcher/view/run_view.h"

namespace slipway::launcher {
namespace {

double SumOf(const Accounting& accounting) {
  double sum = 0;
  for (const auto& part : accounting.parts) sum += part.node_seconds;
  return sum;
}

double PartOf(const Accounting& accounting, const std::string& name) {
  for (const auto& part : accounting.parts) {
    if (part.part == name) return part.node_seconds;
  }
  return 0;
}

RunView TrainedRun() {
  RunView run;
  run.nodes = 2;
  run.phase = Phase::kSucceeded;
  run.phases = {{"queued", 0, 100, 1}, {"staging", 100, 120, 1}, {"running", 120, 220, 1}};
  run.attempts = {{1, 120, 220, "", {}}};
  run.ended = 220;
  run.checkpoints = {{10, 1, 4, 180}, {20, 1, 4, 210}};
  run.steps = StepsView{"default", 100, {{0, "", .8, .5, .1, .2, .1}, {1, "", .8, .5, .1, .2, .1}}};
  return run;
}

TEST(Accounting, DividesTheTimeOfTheNodes) {
  const auto accounting = AccountFor(TrainedRun(), {8, 4}, 1000);
  EXPECT_DOUBLE_EQ(accounting.queue_s, 100);
  EXPECT_DOUBLE_EQ(accounting.node_seconds, 240);
  EXPECT_NEAR(SumOf(accounting), 240, 0.24);
  EXPECT_DOUBLE_EQ(PartOf(accounting, "staging"), 40);
  EXPECT_NEAR(PartOf(accounting, "compute"), 2 * 50, 1e-9);
  EXPECT_NEAR(PartOf(accounting, "checkpoint"), 2 * 8, 1e-9);
  EXPECT_NEAR(PartOf(accounting, "input"), 2 * 10, 1e-9);
  EXPECT_NEAR(accounting.core_hours, 240.0 / 3600 * 8, 1e-12);
  EXPECT_NEAR(accounting.gpu_hours, 240.0 / 3600 * 4, 1e-12);
}

TEST(Accounting, CountsTheWorkOfAFailedAttemptSinceItsLastCheckpointAsLost) {
  auto run = TrainedRun();
  run.attempts = {{1, 120, 200, "rank 1 failed", {}}, {2, 200, 220, "", {}}};
  const auto accounting = AccountFor(run, {}, 1000);
  EXPECT_NEAR(PartOf(accounting, "lost"), 2 * (200 - 180), 1e-9);
  EXPECT_NEAR(SumOf(accounting), accounting.node_seconds, accounting.node_seconds * 1e-3);
}

TEST(Accounting, OfARunThatStillRunsEndsNow) {
  RunView run;
  run.phase = Phase::kRunning;
  run.phases = {{"running", 100, {}, 1}};
  run.attempts = {{1, 100, {}, "", {}}};
  const auto accounting = AccountFor(run, {}, 160);
  EXPECT_DOUBLE_EQ(accounting.node_seconds, 60);
  EXPECT_DOUBLE_EQ(SumOf(accounting), 60);
}

TEST(Accounting, DividesAnEnsembleIntoTrialsLossesAndIdleNodes) {
  RunView run;
  run.ensemble = true;
  run.nodes = 2;
  run.phase = Phase::kSucceeded;
  run.ended = 100;
  run.phases = {{"running", 0, 100, 1}};
  TrialColumns trials;
  trials.number = {0, 1, 2};
  trials.state = {"complete", "failed", "complete"};
  trials.started = {0, 0, 50};
  trials.ended = {100, 50, 80};
  run.trials = trials;
  const auto accounting = AccountFor(run, {}, 500);
  EXPECT_DOUBLE_EQ(PartOf(accounting, "compute"), 130);
  EXPECT_DOUBLE_EQ(PartOf(accounting, "lost"), 50);
  EXPECT_DOUBLE_EQ(PartOf(accounting, "idle"), 20);
  EXPECT_DOUBLE_EQ(SumOf(accounting), accounting.node_seconds);
}

TEST(Accounting, OfARunThatNeverRanIsZero) { EXPECT_EQ(AccountFor(RunView(), {}, 10).node_seconds, 0); }

}  // namespace
}  // namespace slipway::launcher
