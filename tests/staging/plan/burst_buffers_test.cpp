#include "staging/plan/burst_buffers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace slipway::staging {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> VariablesOf(const std::vector<BurstBuffer>& buffers) {
  std::vector<std::string> names;
  for (const auto& buffer : buffers) names.push_back(buffer.variable);
  return names;
}

TEST(BurstBuffers, AreTakenInTheOrderStripedPrivateNamedPersistent) {
  const auto buffers = FindBurstBuffers({"DW_PERSISTENT_STRIPED_cosmo=/p", "BB_fast=/f", "DW_JOB_PRIVATE=/private",
                                         "BB_JOB_STRIPED=/bb", "DW_JOB_STRIPED=/dw", "PATH=/bin"});
  EXPECT_THAT(VariablesOf(buffers), ElementsAre("DW_JOB_STRIPED", "BB_JOB_STRIPED", "DW_JOB_PRIVATE", "BB_fast",
                                                "DW_PERSISTENT_STRIPED_cosmo"));
}

TEST(BurstBuffers, KnowWhoSeesThem) {
  const auto buffers = FindBurstBuffers({"DW_JOB_STRIPED=/a", "DW_JOB_PRIVATE=/b", "DW_PERSISTENT_STRIPED_x=/c",
                                         "DW_JOB_rabbit=/d", "BB_JOB_PRIVATE=/e"});
  EXPECT_EQ(FindBurstBuffer(buffers, "striped")->scope, TierScope::kJob);
  EXPECT_EQ(FindBurstBuffer(buffers, "private")->scope, TierScope::kNode);
  EXPECT_EQ(FindBurstBuffer(buffers, "x")->scope, TierScope::kJob);
  EXPECT_EQ(FindBurstBuffer(buffers, "rabbit")->scope, std::nullopt);
}

TEST(BurstBuffers, OfRabbitHaveUnderscoresForDashes) {
  const auto buffers = FindBurstBuffers({"DW_JOB_my_data=/mnt/nnf/1", "DW_PERSISTENT_old=/mnt/nnf/2"});
  EXPECT_EQ(FindBurstBuffer(buffers, "my-data")->path, "/mnt/nnf/1");
  EXPECT_EQ(FindBurstBuffer(buffers, "old")->path, "/mnt/nnf/2");
  EXPECT_FALSE(FindBurstBuffer(buffers, "data"));
}

TEST(BurstBuffers, AreNoCachesNumbersOrHalfWords) {
  EXPECT_THAT(FindBurstBuffers({"DW_JOB_STRIPED_CACHE=/x", "DW_JOB_LDBAL_CACHE=/x", "DW_PERSISTENT_STRIPED_CACHE_a=/x",
                                "BB_COUNT=4", "BB_=/x", "DW_JOB_=/x",
                                "DW_PERSISTENT_STRIPED_=", "DW_JOB_STRIPED=", "DW_JOB_STRIPED", "=/x", ""}),
              IsEmpty());
}

}  // namespace
}  // namespace slipway::staging
