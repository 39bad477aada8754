#include "launcher/attempt/nodes_in_use.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "core/error.h"
#include "launcher/attempt/allocation.h"

namespace slipway::launcher {
namespace {

TEST(DescriptorsOfARun, MustDoForItsAgentsAndRanks) {
  Spec spec;
  spec.launch.nodes = spec.launch.nodes_per_job = 1000;
  spec.launch.ranks_per_node = 8;
  EXPECT_NO_THROW(RequireDescriptors(spec, 1010, 19010));
  try {
    RequireDescriptors(spec, 1010, 19009);
    ADD_FAILURE() << "it has too few";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
    EXPECT_EQ(error.message(), "the manager may open only 19009 more files, and 1010 nodes with 8000 ranks need 19010");
  }
  spec.launch.nodes_per_job = 2;  // the trials of an ensemble end, and make room
  EXPECT_NO_THROW(RequireDescriptors(spec, 1010, 4000));
}

TEST(RanksOnThisNode, HaveTheTimeOfTheSiteToStart) {
  Spec spec;
  spec.site.patience.start = Seconds(300.5);
  RankLaunch launch;
  launch.ranks = 2;
  ::setenv("SLURMD_NODENAME", "n1", 1);
  PlaceOnThisNode(spec, launch);
  ::unsetenv("SLURMD_NODENAME");
  EXPECT_EQ(launch.start_patience, std::chrono::seconds(301)) << "never less than is asked for";
  ASSERT_EQ(launch.hosts.size(), 1u);
  EXPECT_EQ(launch.hosts.front().name, "n1");
}

TEST(NodesToGoOnWith, AreAllThatLiveWithoutAGlobalBatch) {
  EXPECT_EQ(NodesToGoOnWith(3, 1, 2, 0), 3);
  EXPECT_EQ(NodesToGoOnWith(1, 1, 2, 0), 1);
}

TEST(NodesToGoOnWith, ShareTheGlobalBatchEqually) {
  EXPECT_EQ(NodesToGoOnWith(7, 1, 2, 64), 4);
  EXPECT_EQ(NodesToGoOnWith(3, 1, 2, 64), 2);
  EXPECT_EQ(NodesToGoOnWith(3, 1, 3, 64), std::nullopt);
}

TEST(NodesToGoOnWith, AreNeverFewerThanTheLeast) {
  EXPECT_EQ(NodesToGoOnWith(3, 4, 2, 0), std::nullopt);
  EXPECT_EQ(NodesToGoOnWith(3, 3, 2, 64), std::nullopt);
  EXPECT_EQ(NodesToGoOnWith(0, 0, 2, 0), std::nullopt);
}

Spec OnFourNodesAndTwoSpareOnes(OnNodeFailure on_node_failure) {
  Spec spec;
  spec.launch.nodes = 4;
  spec.launch.ranks_per_node = 2;
  spec.resilience.spare_nodes = 2;
  spec.resilience.min_nodes = 2;
  spec.resilience.on_node_failure = on_node_failure;
  return spec;
}

TEST(NodesToGoOnWith, AreAsManyAsBeforeWhileThereAreSpareOnes) {
  for (const auto policy : {OnNodeFailure::kFail, OnNodeFailure::kExclude}) {
    EXPECT_EQ(NodesToGoOnWith(5, OnFourNodesAndTwoSpareOnes(policy)), 4);
    EXPECT_EQ(NodesToGoOnWith(4, OnFourNodesAndTwoSpareOnes(policy)), 4);
  }
}

TEST(NodesToGoOnWith, AreFewerOnlyWhereTheRunMayGoOnWithFewer) {
  EXPECT_EQ(NodesToGoOnWith(3, OnFourNodesAndTwoSpareOnes(OnNodeFailure::kExclude)), 3);
  EXPECT_EQ(NodesToGoOnWith(1, OnFourNodesAndTwoSpareOnes(OnNodeFailure::kExclude)), std::nullopt);
  EXPECT_EQ(NodesToGoOnWith(3, OnFourNodesAndTwoSpareOnes(OnNodeFailure::kFail)), std::nullopt);
}

}  // namespace
}  // namespace slipway::launcher
