#include "launcher/workflow/job_spec.h"

#include <gmock/gmock.h>

#include "tests/launcher/workflow/workflow_of.h"

namespace slipway::launcher {
namespace {

using test::TempDirectory;
using test::WorkflowOf;
using testing::HasSubstr;
using testing::Not;

std::string TextOf(const std::string& step) {
  const TempDirectory folder;
  const auto workflow = WorkflowOf(folder, "  first: {command: ['true'], outputs: {o: o}}\n  step: " + step + "\n");
  return JobSpecText(workflow.steps[workflow.by_name.at("step")]);
}

TEST(JobSpec, OfACommandHasItsResources) {
  const auto text = TextOf("{command: ['true'], resources: {cpus: 4, gpus: 1, memory: 64MiB}, slurm: {qos: high}}");
  EXPECT_THAT(text, HasSubstr("\"cpus_per_rank\": 4\n"));
  EXPECT_THAT(text, HasSubstr("\"gpus_per_rank\": 1\n"));
  EXPECT_THAT(text, HasSubstr("\"memory_per_node\": 67108864\n"));
  EXPECT_THAT(text, HasSubstr("\"qos\": \"high\"\n"));
}

TEST(JobSpec, OfAnExperimentHasItsLaunchAboveTheSettingsOfTheStep) {
  const auto text = TextOf(
      "{experiment: {train: {command: ['true']}, launch: {nodes: 2, slurm: {partition: own}}},"
      " resources: {cpus: 9}, slurm: {partition: shared, account: a}}");
  EXPECT_THAT(text, HasSubstr("\"nodes\": 2\n"));
  EXPECT_THAT(text, HasSubstr("\"partition\": \"own\"\n"));
  EXPECT_THAT(text, HasSubstr("\"account\": \"a\"\n"));
  EXPECT_THAT(text, Not(HasSubstr("cpus_per_rank")));
}

TEST(JobSpec, LeavesOutWhatIsNotKnownYet) {
  const auto text = TextOf(
      "{experiment: {data: {train: {source: '${steps.first.outputs.o}/x', format: raw}},"
      " train: {command: ['true', '${steps.first.folder}']},"
      " launch: {ranks_per_node: 2, env: {A: '${steps.first.folder}', B: b}}}}");
  EXPECT_THAT(text, Not(HasSubstr("${")));
  EXPECT_THAT(text, Not(HasSubstr("data")));
  EXPECT_THAT(text, HasSubstr("\"B\": \"b\"\n"));
  EXPECT_THAT(text, HasSubstr("\"ranks_per_node\": 2\n"));
}

TEST(JobSpec, CoversAllAttemptsAndAMinute) {
  EXPECT_THAT(TextOf("{command: ['true'], time_limit: 90s, retries: 2}"), HasSubstr("\"time_limit\": \"330s\"\n"));
  EXPECT_THAT(TextOf("{command: ['true'], retries: 2}"), Not(HasSubstr("time_limit")));
}

TEST(JobSpec, OfAnEnsembleHasItsTrialsAtATime) {
  const auto text = TextOf(
      "{experiment: {train: {command: ['true', '{lr}']},"
      " ensemble: {objective: {metric: m, goal: minimize}, trials: 9, parallel: 3, space: {lr: {int: [1, 9]}}}}}");
  EXPECT_THAT(text, HasSubstr("\"parallel\": 3\n"));
}

TEST(JobSpec, SettingsOfSlurmAreChecked) {
  const TempDirectory folder;
  try {
    WorkflowOf(folder, "  a: {command: ['true'], slurm: {partiton: debug}}\n");
    FAIL() << "it was accepted";
  } catch (const SpecError& error) {
    EXPECT_THAT(error.what(), HasSubstr("partiton"));
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'partition'?"));
  }
}

TEST(JobSpec, KnowsWhoseDataLiesInTheBurstBuffer) {
  const TempDirectory folder;
  const auto workflow = WorkflowOf(folder,
                                   "  a: {experiment: {train: {command: ['true']}, data: {d: {source: '/none',"
                                   " format: raw, tier: [burst, none]}}}}\n"
                                   "  b: {command: ['true']}\n");
  EXPECT_TRUE(WantsBurstBuffer(workflow.steps[0]));
  EXPECT_FALSE(WantsBurstBuffer(workflow.steps[1]));
}

}  // namespace
}  // namespace slipway::launcher
