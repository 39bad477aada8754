// What steps take, on one node and on all.

#include <gmock/gmock.h>

#include "launcher/workflow/resolve.h"
#include "tests/launcher/workflow/workflow_of.h"

namespace slipway::launcher {
namespace {

using test::TempDirectory;
using test::WorkflowOf;
using testing::FieldsAre;
using testing::Optional;

StepSize SizeFor(const std::string& step) {
  const TempDirectory folder;
  return SizeOf(WorkflowOf(folder, "  step: " + step + "\n").steps.front());
}

StepSize SizeForRun(const std::string& more) {
  return SizeFor("{experiment: {train: {command: ['true', '{x}']}, " + more + "}}");
}

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
}

}  // namespace
}  // namespace slipway::launcher
