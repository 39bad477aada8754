#include "launcher/run/trials/ensemble_result.h"

#include <gmock/gmock.h>

#include "launcher/run_folder/end_reason.h"

namespace slipway::launcher {
namespace {

using testing::HasSubstr;

ensemble::EnsembleOptions Options() {
  ensemble::EnsembleOptions options;
  options.objectives = {{"accuracy"}};
  return options;
}

TEST(EnsembleResult, IsASuccessWhenATrialIsCompleteAndNothingIsLeft) {
  ensemble::EnsembleSummary summary;
  summary.complete = 3;
  summary.failed = 1;
  summary.cancelled = 2;
  const auto result = ResultOf(summary, Options(), "r");
  EXPECT_EQ(result.phase, Phase::kSucceeded);
  EXPECT_EQ(result.summary_text, "  trials  3 complete, 1 failed, 2 cancelled");
  EXPECT_EQ(result.summary["trials"]["cancelled"], 2);
}

TEST(EnsembleResult, CountsTrialsByTheWordsOfTheirStates) {
  ensemble::EnsembleSummary summary;
  summary.complete = 1;
  summary.waiting = 8;
  summary.interrupted = true;
  const auto result = ResultOf(summary, Options(), "r");
  EXPECT_EQ(result.summary_text, "  trials  1 complete, 8 queued");
  EXPECT_EQ(result.summary["trials"]["queued"], 8);
}

TEST(EnsembleResult, IsNoneWhenTrialsWaitForNodesThatAreGone) {
  ensemble::EnsembleSummary summary;
  summary.complete = 3;
  summary.waiting = 2;
  summary.not_begun = 4;
  summary.out_of_nodes = true;
  auto options = Options();
  options.need = {2, 8, 1};
  const auto result = ResultOf(summary, options, "r");
  EXPECT_EQ(result.phase, Phase::kFailed);
  EXPECT_EQ(
      ReasonFor(result.cause, "r"),
      "a trial needs 2 nodes with 8 cores and 1 GPU each, and too few such nodes are left (2 queued, 4 not begun); "
      "continue with other nodes: slipway resume r");
  options.need = {1, 1, 0};
  EXPECT_THAT(ReasonFor(ResultOf(summary, options, "r").cause, "r"),
              HasSubstr("a trial needs a node with 1 core, and no such node is left"));
}

TEST(EnsembleResult, IsAFailureWhenTheTrialsFailedAlike) {
  ensemble::EnsembleSummary summary;
  summary.failed = 3;
  summary.not_begun = 237;
  summary.same_failure = "3 trials in a row failed alike: exit status 1: no licence";
  const auto result = ResultOf(summary, Options(), "r");
  EXPECT_EQ(result.phase, Phase::kFailed);
  const auto reason = ReasonFor(result.cause, "r");
  EXPECT_THAT(reason, HasSubstr("failed alike: exit status 1: no licence; no further trial began"));
  EXPECT_THAT(reason, HasSubstr("slipway trials retry --failed r && slipway resume r;"));
}

TEST(EnsembleResult, NamesTheLeaderThatTheTimeWasTooShortFor) {
  ensemble::EnsembleSummary summary;
  summary.complete = 1;
  summary.paused = 8;
  summary.begun = 9;
  summary.out_of_time = true;
  summary.leader = ensemble::Leader{4, 3, 27};
  auto options = Options();
  options.budget.wall_seconds = 3600;
  EXPECT_THAT(
      ResultOf(summary, options, "r").summary_text,
      HasSubstr("trial 4 leads and is paused at epoch 3 of 27; to bring the trials that have begun to their end: "
                "slipway resume r --set ensemble.trials=9 --set ensemble.budget.time=..."));
}

TEST(EnsembleResult, IsAFailureWhenNoTrialIsComplete) {
  ensemble::EnsembleSummary summary;
  summary.failed = 2;
  summary.cancelled = 1;
  summary.pruned = 3;
  summary.paused = 4;
  EXPECT_EQ(ResultOf(summary, Options(), "r").phase, Phase::kFailed);
  EXPECT_EQ(ResultOf(summary, Options(), "r").cause, EndCause(cause::NoTrialCompleted{2, 1, 3, 4}));
}

TEST(EnsembleResult, TellsWhyItEndedBeforeItsTime) {
  ensemble::EnsembleSummary summary;
  summary.complete = 1;
  summary.failed = 4;
  summary.out_of_time = true;
  auto options = Options();
  options.budget.node_seconds = 3600;
  EXPECT_EQ(ResultOf(summary, options, "r").cause, EndCause(cause::OutOfTime{false, true}));
  EXPECT_EQ(ResultOf(summary, options, "r").phase, Phase::kSucceeded) << "with what it has";
  summary.complete = 0;
  EXPECT_EQ(ResultOf(summary, options, "r").phase, Phase::kFailed);
  summary.too_many_failures = true;
  EXPECT_EQ(ResultOf(summary, options, "r").cause, EndCause(cause::TooManyFailures{4}));
  summary.interrupted = true;
  EXPECT_EQ(ResultOf(summary, options, "r").cause, EndCause(cause::Cancelled{}));
  EXPECT_EQ(ResultOf(summary, options, "r").phase, Phase::kCancelled);
}

}  // namespace
}  // namespace slipway::launcher
