// Why a run waits or what it does, in words.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "launcher/cli/explain/explanation.h"

namespace slipway::launcher {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

RunFacts Waiting(const std::string& reason) {
  RunFacts facts;
  facts.state.run = "small-1";
  facts.selector = "small-1";
  facts.state.phase = Phase::kQueued;
  facts.job.emplace();
  facts.job->id = 12;
  facts.job->reason = reason;
  facts.job->partition = "debug";
  facts.job->priority = 4294901758;
  return facts;
}

TEST(ExplainWaiting, SaysTheReasonThePriorityAndTheProspect) {
  auto facts = Waiting("Priority");
  facts.job->time_limit_minutes = 90;
  facts.job->submitted = SlurmTime(std::chrono::seconds(0));
  facts.job->start = SlurmTime(std::chrono::seconds(3600));
  const auto explanation = Explain(facts);
  EXPECT_EQ(explanation.headline, "waits in the queue as job 12, submitted 1970-01-01T00:00:00.000Z");
  EXPECT_THAT(explanation.because, ElementsAre("jobs with a higher priority are ahead of it in the queue (Priority)",
                                               "partition debug, time limit 1h30m", "its priority is 4294901758",
                                               "Slurm expects it to start at 1970-01-01T01:00:00.000Z"));
  EXPECT_THAT(explanation.next, ElementsAre("wait; a shorter time limit may let it run in a gap",
                                            "take it out of the queue: slipway cancel small-1"));
}

TEST(ExplainWaiting, GivesTheJobsNumberToWhatIsAdvised) {
  const auto explanation = Explain(Waiting("JobHeldUser"));
  EXPECT_THAT(explanation.next, Contains("scontrol release 12 lets it go"));
}

TEST(ExplainWaiting, SaysWhatItDependsOnAndHowFarItsBufferIs) {
  auto facts = Waiting("BurstBufferStageIn");
  facts.job->dependency = "afterok:7";
  facts.job->burst_buffer = "#DW jobdw ...";
  facts.job->burst_buffer_state = "staging-in";
  facts.job->reason_text = "dws_data_in: no such file";
  const auto because = Explain(facts).because;
  EXPECT_THAT(because, Contains("it waits for: afterok:7"));
  EXPECT_THAT(because, Contains("its burst buffer: staging-in"));
  EXPECT_THAT(because, Contains("in its own words: dws_data_in: no such file"));
}

TEST(ExplainWaiting, KnowsAHeldJobAndOneThatWasQueuedAgain) {
  auto facts = Waiting("JobHeldAdmin");
  facts.job->priority = 0;
  facts.job->restarts = 2;
  const auto because = Explain(facts).because;
  EXPECT_THAT(because, Contains("it is held: its priority is 0"));
  EXPECT_THAT(because, Contains(HasSubstr("2 times")));
  EXPECT_THAT(because, Contains(HasSubstr("has not said yet")));
}

TEST(ExplainWaiting, IsADocument) {
  auto facts = Waiting("Priority");
  auto document = ToJson(Explain(facts), facts);
  EXPECT_EQ(document["schema"], "slipway.explain/1");
  EXPECT_EQ(document["phase"], "queued");
  EXPECT_EQ(document["job"]["id"], 12);
  EXPECT_TRUE(document["job"]["expected_start"].is_null());
  facts.job->start = SlurmTime(std::chrono::seconds(3600));
  EXPECT_EQ(ToJson(Explain(facts), facts)["job"]["expected_start"], "1970-01-01T01:00:00.000Z");
  EXPECT_TRUE(ToJson(Explain(RunFacts()), RunFacts())["job"].is_null());
}

TEST(ExplainRunning, SaysWhereSinceWhenAndUntilWhen) {
  auto facts = Waiting("None");
  facts.state.phase = Phase::kRunning;
  facts.state.attempt = 2;
  facts.state.host = "n3";
  facts.state.started = "2026-11-22T06:00:00Z";
  facts.job->state = JobState::kRunning;
  facts.job->end = SlurmTime(std::chrono::seconds(3600));
  const auto explanation = Explain(facts);
  EXPECT_EQ(explanation.headline, "running, attempt 2 on n3, since 2026-11-22T06:00:00Z");
  EXPECT_THAT(explanation.because, ElementsAre("the time limit of job 12 ends it at 1970-01-01T01:00:00.000Z"));
  EXPECT_THAT(explanation.next, ElementsAre("see what it does: slipway logs -f small-1"));
}

TEST(ExplainRunning, OfARunThatSlurmSaysNothingAbout) {
  auto facts = Waiting("None");
  facts.job.reset();
  facts.slurm_trouble = "Slurm's controller does not answer";
  EXPECT_THAT(Explain(facts).because, Contains("what Slurm says is not known: Slurm's controller does not answer"));
}

TEST(ExplainRunning, NeedsNothing) {
  const auto explanation = Explain(RunFacts());
  EXPECT_THAT(explanation.headline, HasSubstr("created"));
  EXPECT_THAT(Describe(explanation, RunFacts()), Not(HasSubstr("last lines")));
}

}  // namespace
}  // namespace slipway::launcher
