// The parts of the time of nodes sum to the whole, whatever is known of a run.

#include "launcher/view/accounting.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <set>

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
  run.attempt = 1;
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

TEST(Accounting, TellsTheExchangeFromWaitingForSlowerRanks) {
  auto run = TrainedRun();
  run.steps->ranks[0].wait_s = 0.1;
  run.steps->ranks[1].wait_s = 0.3;
  run.steps->ranks[1].compute_s = 0.3;
  const auto accounting = AccountFor(run, {}, 1000);
  EXPECT_NEAR(PartOf(accounting, "exchange"), 2 * 100 * 0.1, 1e-9);
  EXPECT_NEAR(PartOf(accounting, "wait"), 2 * 100 * 0.1, 1e-9);
}

TEST(Accounting, TakesTheWaitsOfTheWholeAttemptWhereThereIsNoTeam) {
  auto run = TrainedRun();
  run.steps = StepsView{"", 1, {{0, "", 90, 60, 10, 40, 20}, {1, "", 90, 40, 30, 60, 20}}};
  const auto accounting = AccountFor(run, {}, 1000);
  EXPECT_NEAR(PartOf(accounting, "exchange"), 2 * 10, 1e-9);
  EXPECT_NEAR(PartOf(accounting, "wait"), 2 * 10, 1e-9);
  EXPECT_NEAR(PartOf(accounting, "input"), 2 * 20, 1e-9);
  EXPECT_NEAR(PartOf(accounting, "compute"), 2 * 50, 1e-9);
}

TEST(Accounting, CountsTheWorkOfAFailedAttemptSinceItsLastCheckpointAsLost) {
  auto run = TrainedRun();
  run.attempt = 2;
  run.steps.reset();
  run.attempts = {{1, 120, 200, "rank 1 failed", {}}, {2, 205, 220, "", {}}};
  const auto accounting = AccountFor(run, {}, 1000);
  EXPECT_NEAR(PartOf(accounting, "lost"), 2 * (200 - 180), 1e-9);
  EXPECT_NEAR(PartOf(accounting, "compute"), 2 * (60 - 4 + 15 - 4), 1e-9) << "what led to the checkpoint counts";
  EXPECT_NEAR(PartOf(accounting, "idle"), 2 * 5, 1e-9) << "between the attempts";
  EXPECT_NEAR(SumOf(accounting), accounting.node_seconds, accounting.node_seconds * 1e-3);
}

TEST(Accounting, LeavesOutTheTimeInTheQueueOfARunThatWasRequeued) {
  RunView run;
  run.phase = Phase::kSucceeded;
  run.attempt = 2;
  run.phases = {{"queued", 0, 10, 0}, {"running", 10, 60, 1}, {"queued", 60, 500, 1}, {"running", 500, 520, 2}};
  run.attempts = {{1, 10, 60, "the job was preempted", {}}, {2, 500, 520, "", {}}};
  run.checkpoints = {{1, 1, 0, 50}};
  run.ended = 520;
  const auto accounting = AccountFor(run, {}, 1000);
  EXPECT_DOUBLE_EQ(accounting.queue_s, 450);
  EXPECT_DOUBLE_EQ(accounting.node_seconds, 70);
  EXPECT_DOUBLE_EQ(PartOf(accounting, "lost"), 10);
  EXPECT_DOUBLE_EQ(PartOf(accounting, "compute"), 60);
}

TEST(Accounting, OfALostRunEndsAtItsLastSignOfLife) {
  RunView run;
  run.phase = Phase::kLost;
  run.phases = {{"running", 100, {}, 1}};
  run.attempts = {{1, 100, 150, "its manager was lost", {}}};
  EXPECT_DOUBLE_EQ(AccountFor(run, {}, 1e9).node_seconds, 50);
}

TEST(Accounting, CountsSpareNodesAsIdle) {
  auto run = TrainedRun();
  const auto accounting = AccountFor(run, {1, 0, 1, false}, 1000);
  EXPECT_DOUBLE_EQ(accounting.node_seconds, 360);
  EXPECT_NEAR(PartOf(accounting, "idle"), 120, 1e-9);
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

RunView EnsembleRun() {
  RunView run;
  run.ensemble = true;
  run.nodes = 2;
  run.phase = Phase::kSucceeded;
  run.ended = 100;
  run.phases = {{"running", 0, 100, 1}};
  run.trials.emplace();
  run.trial_spans = {{0, 100, 1, false}, {0, 50, 1, true}, {50, 80, 1, false}};
  return run;
}

TEST(Accounting, DividesAnEnsembleIntoTrialsLossesAndIdleNodes) {
  const auto accounting = AccountFor(EnsembleRun(), {}, 500);
  EXPECT_DOUBLE_EQ(PartOf(accounting, "compute"), 130);
  EXPECT_DOUBLE_EQ(PartOf(accounting, "lost"), 50);
  EXPECT_DOUBLE_EQ(PartOf(accounting, "idle"), 20);
  EXPECT_DOUBLE_EQ(SumOf(accounting), accounting.node_seconds);
}

TEST(Accounting, OfTrialsThatShareANodeCountsItOnce) {
  auto run = EnsembleRun();
  run.nodes = 1;
  const auto accounting = AccountFor(run, {}, 500);
  EXPECT_DOUBLE_EQ(accounting.node_seconds, 100);
  EXPECT_DOUBLE_EQ(PartOf(accounting, "compute"), 65);
}

TEST(Accounting, OfOneTrialAtATimeLeavesTheOtherNodesIdle) {
  auto run = EnsembleRun();
  run.nodes = 4;
  run.trial_spans = {{0, 100, 1, false}};
  EXPECT_DOUBLE_EQ(PartOf(AccountFor(run, {}, 500), "idle"), 300);
}

TEST(Accounting, OfTrialsAsJobsIsTheTimeOfTheirJobs) {
  auto run = EnsembleRun();
  run.trial_spans = {{0, 100, 3, false}, {10, 20, 1, true}};
  const auto accounting = AccountFor(run, {1, 0, 0, true}, 500);
  EXPECT_DOUBLE_EQ(accounting.node_seconds, 310);
  EXPECT_DOUBLE_EQ(PartOf(accounting, "lost"), 10);
  EXPECT_DOUBLE_EQ(PartOf(accounting, "compute"), 300);
}

/// Times may be in any order: clocks step, and folders are damaged.
rc::Gen<double> AnyTime() {
  return rc::gen::map(rc::gen::inRange(-50, 1'000), [](int tenths) { return tenths / 10.0; });
}

std::optional<double> MaybeTime() { return *rc::gen::arbitrary<bool>() ? std::optional(*AnyTime()) : std::nullopt; }

RunView AnyRun() {
  RunView run;
  run.nodes = *rc::gen::inRange(0, 5);
  run.ensemble = *rc::gen::arbitrary<bool>();
  run.phase = *rc::gen::element(Phase::kCreated, Phase::kRunning, Phase::kSucceeded, Phase::kFailed, Phase::kLost);
  run.ended = MaybeTime();
  run.attempt = 2;
  for (int i = *rc::gen::inRange(0, 6); i > 0; --i) {
    run.phases.push_back({*rc::gen::element<std::string>("queued", "staging", "running"), *AnyTime(), MaybeTime(), 1});
    run.attempts.push_back({i, MaybeTime(), MaybeTime(), *rc::gen::element<std::string>("", "failed"), {}});
    run.checkpoints.push_back({1, 1, *AnyTime(), *AnyTime()});
    run.trial_spans.push_back({*AnyTime(), MaybeTime(), *rc::gen::inRange(0, 4), *rc::gen::arbitrary<bool>()});
    CurveView curve;
    curve.attempt = i;
    curve.time = {*AnyTime()};
    run.curves.push_back(curve);
  }
  if (*rc::gen::arbitrary<bool>()) {
    run.steps = StepsView{"default", *rc::gen::inRange<std::uint64_t>(0, 1'000), {}};
    for (int i = *rc::gen::inRange(0, 3); i > 0; --i) {
      run.steps->ranks.push_back({i, "", *AnyTime(), *AnyTime(), *AnyTime(), *AnyTime(), *AnyTime()});
    }
  }
  return run;
}

TEST(Accounting, HasPartsThatSumToTheWholeWhateverIsRecorded) {
  EXPECT_TRUE(rc::check([] {
    const auto run = AnyRun();
    const NodeShare share{1, 1, *rc::gen::inRange(0, 3), *rc::gen::arbitrary<bool>()};
    const auto accounting = AccountFor(run, share, 100);
    RC_ASSERT(accounting.node_seconds >= 0);
    RC_ASSERT(std::abs(SumOf(accounting) - accounting.node_seconds) <= 1e-3 * accounting.node_seconds);
    std::set<std::string> names;
    for (const auto& part : accounting.parts) {
      RC_ASSERT(part.node_seconds > 0);
      RC_ASSERT(names.insert(part.part).second);
    }
  }));
}

TEST(Accounting, OfARunThatNeverRanIsZero) { EXPECT_EQ(AccountFor(RunView(), {}, 10).node_seconds, 0); }

}  // namespace
}  // namespace slipway::launcher
