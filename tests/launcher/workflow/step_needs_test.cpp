// What steps take, on one node and on all.

#include <gmock/gmock.h>

#include "launcher/workflow/resolve.h"
#include "tests/launcher/workflow/workflow_of.h"

namespace slipway::launcher {
namespace {

using test::TempDirectory;
using test::WorkflowOf;
using testing::ElementsAre;
using testing::FieldsAre;
using testing::IsEmpty;
using testing::Optional;

const NodeSize kNode{16, {}, 4};

Step StepOf(const std::string& step) {
  const TempDirectory folder;
  return WorkflowOf(folder, "  step: " + step + "\n").steps.front();
}

std::string Run(const std::string& more) { return "{experiment: {train: {command: ['true', '{x}']}, " + more + "}}"; }

StepSize SizeFor(const std::string& step) { return SizeOf(StepOf(step), kNode); }
StepSize SizeForRun(const std::string& more) { return SizeFor(Run(more)); }

const std::string kSearch = "objective: {metric: m, goal: minimize}, trials: 9, space: {x: {int: [1, 9]}}";

TEST(StepSizes, OfCommandsAreTheirResources) {
  EXPECT_THAT(SizeFor("{command: ['true']}"), FieldsAre(Optional(1), 1, 0));
  EXPECT_THAT(SizeFor("{command: ['true'], resources: {cpus: 4, gpus: 2}}"), FieldsAre(Optional(1), 4, 2));
}

TEST(StepSizes, OfExperimentsCountAllNodes) {
  const auto size = SizeFor(
      "{experiment: {train: {command: ['true']}, launch: {nodes: 3, ranks_per_node: 2, cpus_per_rank: 4,"
      " gpus_per_rank: 1}, resilience: {spare_nodes: 1}}}");
  EXPECT_THAT(size, FieldsAre(Optional(4), 24, 6)) << "the job has the spare node, too";
  EXPECT_THAT(SizeFor("{experiment: {train: {command: ['true']}, launch: {nodes: 3}}, resources: {cpus: 5}}"),
              FieldsAre(Optional(3), 5, 0));
}

TEST(StepSizes, OfEnsemblesCountTheTrialsAtATime) {
  EXPECT_THAT(
      SizeForRun("launch: {nodes: 4, ranks_per_node: 2}, ensemble: {parallel: 2, nodes_per_trial: 2, " + kSearch + "}"),
      FieldsAre(Optional(4), 8, 0));
  EXPECT_EQ(SizeForRun("ensemble: {placement: job, parallel: 2, " + kSearch + "}").nodes, std::nullopt);
  EXPECT_THAT(SizeForRun("launch: {nodes: 2, gpus_per_rank: 2}, ensemble: {parallel: auto, " + kSearch + "}"),
              FieldsAre(Optional(2), 4, 8));
}

/// The cores and GPUs that an ensemble takes of a node.
std::pair<int, int> NeedsForSearch(const std::string& parallel, int gpus_per_rank, const NodeSize& node,
                                   const std::string& ranks = "1") {
  const auto launch = fmt::format("launch: {{ranks_per_node: {}, gpus_per_rank: {}}}", ranks, gpus_per_rank);
  const auto step = StepOf(Run(fmt::format("{}, ensemble: {{{}{}}}", launch, parallel, kSearch)));
  const auto needs = NeedsOf(step, node);
  return {needs.cpus.value(), needs.gpus.value()};
}

TEST(StepNeeds, OfAnEnsembleAreOfOneTrialWhereParallelIsLeftOut) {
  EXPECT_THAT(NeedsForSearch("", 1, kNode), FieldsAre(1, 1));
  EXPECT_THAT(NeedsForSearch("", 1, kNode, "2"), FieldsAre(2, 2));
}

TEST(StepNeeds, OfAnEnsembleAreTheGpusOfAtMostTheTrialsThatHaveSome) {
  EXPECT_THAT(NeedsForSearch("parallel: 3, ", 1, kNode), FieldsAre(3, 3));
  EXPECT_THAT(NeedsForSearch("parallel: 3, ", 1, {2, {}, 2}), FieldsAre(2, 2));
  EXPECT_THAT(NeedsForSearch("parallel: 9, ", 3, kNode), FieldsAre(1, 3)) << "the fourth GPU is too few";
  EXPECT_THAT(NeedsForSearch("parallel: 9, ", 0, kNode), FieldsAre(9, 0));
  EXPECT_THAT(NeedsForSearch("parallel: auto, ", 1, kNode), FieldsAre(4, 4));
  EXPECT_THAT(NeedsForSearch("parallel: auto, ", 0, kNode), FieldsAre(16, 0));
}

TEST(StepNeeds, OfAnEnsembleAreOfOneTrialAtLeast) {
  EXPECT_THAT(NeedsForSearch("parallel: 3, ", 2, {2, {}, 1}), FieldsAre(1, 2));
  EXPECT_THAT(NeedsForSearch("parallel: auto, ", 1, {2, {}, 0}), FieldsAre(1, 1));
}

int LeastFor(const std::string& step) { return LeastGpusOf(StepOf(step), NeedsOf(StepOf(step), kNode)); }
int LeastForRun(const std::string& more) { return LeastFor(Run(more)); }

TEST(StepNeeds, OfAnEnsembleStartWithTheGpusOfOneTrial) {
  const auto search = "launch: {gpus_per_rank: 2}, ensemble: {parallel: auto, " + kSearch + "}";
  EXPECT_EQ(LeastForRun(search), 2);
  EXPECT_EQ(LeastForRun(search + "}, resources: {gpus: 4"), 4) << "what the step itself says counts";
  EXPECT_EQ(LeastFor("{experiment: {train: {command: ['true']}, launch: {gpus_per_rank: 2, ranks_per_node: 2}}}"), 4);
  EXPECT_EQ(LeastFor("{command: ['true'], resources: {gpus: 3}}"), 3);
  EXPECT_EQ(LeastFor("{command: ['true']}"), 0);
}

TEST(StepNeeds, OfTrialsThatAreJobsAreOneCoreForTheirManager) {
  EXPECT_THAT(NeedsForSearch("placement: job, parallel: 3, ", 2, kNode), FieldsAre(1, 0));
}

TEST(RunsWithoutGpus, AreThoseThatDoNotSayWhetherTheyNeedSomeWhereOthersDo) {
  const TempDirectory folder;
  const std::string train = "train: {command: ['true']}";
  const auto runs = "  one: {experiment: {" + train + "}}\n" + "  two: {experiment: {" + train +
                    ", launch: {gpus_per_rank: 0}}}\n" + "  three: {experiment: {" + train +
                    "}, resources: {gpus: 0}}\n  four: {command: ['true']}\n";
  EXPECT_THAT(RunsWithoutGpus(WorkflowOf(folder, runs)), IsEmpty());
  const auto workflow = WorkflowOf(folder, runs + "  five: {command: ['true'], resources: {gpus: 1}}\n");
  EXPECT_THAT(RunsWithoutGpus(workflow), ElementsAre(workflow.by_name.at("one")));
}

}  // namespace
}  // namespace slipway::launcher
