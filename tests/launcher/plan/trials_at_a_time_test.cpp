// How many trials run at a time where cores and GPUs are limited, each or both.

#include "launcher/plan/trials_at_a_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace slipway::launcher {
namespace {

using testing::HasSubstr;

struct Wish {
  int gpus_per_rank = 0;
  std::optional<int> parallel = {};
  int ranks_per_node = 1;
  int nodes_per_trial = 1;
};

Spec For(const Wish& wish) {
  Spec spec;
  spec.launch.gpus_per_rank = wish.gpus_per_rank;
  spec.launch.ranks_per_node = wish.ranks_per_node;
  spec.launch.nodes_per_job = wish.nodes_per_trial;
  spec.ensemble.emplace();
  spec.ensemble->parallel = wish.parallel;
  return spec;
}

ensemble::AllocatedNode Node(const std::string& name, int cores, int gpus) {
  ensemble::AllocatedNode node{name, std::vector<int>(static_cast<std::size_t>(cores)), {}};
  for (int i = 0; i < gpus; ++i) node.gpus.push_back(std::to_string(i));
  return node;
}

TEST(TrialsAtATime, AreLimitedByWhatIsScarcer) {
  EXPECT_EQ(FitTrials(For({1}), {Node("a", 8, 4)}).count, 4);
  EXPECT_EQ(FitTrials(For({1}), {Node("a", 3, 4)}).count, 3);
  EXPECT_EQ(FitTrials(For({0}), {Node("a", 8, 4)}).count, 8);
  EXPECT_EQ(FitTrials(For({.gpus_per_rank = 2, .ranks_per_node = 2}), {Node("a", 8, 11)}).count, 2);
  EXPECT_EQ(FitTrials(For({.gpus_per_rank = 2, .nodes_per_trial = 2}), {Node("a", 8, 4), Node("b", 8, 8)}).count, 2);
}

TEST(TrialsAtATime, ShareCoresWhereTheUserSaysSoButNeverGpus) {
  const auto crowded = FitTrials(For({0, 16}), {Node("a", 8, 4)});
  EXPECT_EQ(crowded.count, 16);
  EXPECT_TRUE(crowded.share_cores);
  const auto wanted = FitTrials(For({1, 16}), {Node("a", 8, 4)});
  EXPECT_EQ(wanted.count, 4);
  EXPECT_FALSE(wanted.share_cores);
  EXPECT_TRUE(wanted.fewer_for_gpus);
  const auto few_cores = FitTrials(For({1, 3}), {Node("a", 2, 4)});
  EXPECT_EQ(few_cores.count, 3);
  EXPECT_TRUE(few_cores.share_cores);
  EXPECT_FALSE(few_cores.fewer_for_gpus);
}

TEST(TrialsAtATime, AreAnErrorWhereNoTrialWouldEverHaveItsGpus) {
  try {
    FitTrials(For({.gpus_per_rank = 4, .nodes_per_trial = 2}), {Node("n1", 8, 4), Node("n2", 8, 3)});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
    EXPECT_THAT(error.message(), HasSubstr("a trial needs 4 GPUs on each of 2 nodes, but n1 has 4, n2 has 3"));
  }
}

}  // namespace
}  // namespace slipway::launcher
