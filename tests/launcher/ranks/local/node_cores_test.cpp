#include "launcher/ranks/local/node_cores.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

using testing::ElementsAre;

TEST(CoresOfJob, AreItsOwnWhereSlurmConfinesItOrGivesAllOfTheNode) {
  for (const std::size_t given : {2, 3, 0}) {
    const auto [cores, own] = CoresOfJob({4, 5}, given, 1);
    EXPECT_THAT(cores, ElementsAre(4, 5)) << given;
    EXPECT_TRUE(own) << given;
  }
}

TEST(CoresOfJob, AreItsOwnWhereSlurmCountsTheThreadsOfACoreAsOne) {
  const auto [cores, own] = CoresOfJob({4, 12, 5, 13}, 2, 2);
  EXPECT_THAT(cores, ElementsAre(4, 12, 5, 13));
  EXPECT_TRUE(own);
}

TEST(CoresOfJob, AreAnybodysWhereItMayRunOnMoreThanItWasGiven) {
  const auto [cores, own] = CoresOfJob({0, 1, 2, 3}, 1, 1);
  EXPECT_THAT(cores, ElementsAre(0));
  EXPECT_FALSE(own);
}

class NeighboursTest : public testing::Test {
 protected:
  void Describe(int thread, int socket, int core) {
    const auto topology = folder_ / fmt::format("cpu{}/topology", thread);
    std::filesystem::create_directories(topology);
    WriteFile(topology / "physical_package_id", std::to_string(socket) + "\n");
    WriteFile(topology / "core_id", std::to_string(core) + "\n");
  }
  test::TempDirectory folder_;
};

TEST_F(NeighboursTest, AreTheThreadsOfACoreAndTheCoresOfASocket) {
  for (int thread = 0; thread < 8; ++thread) Describe(thread, thread % 2, (thread / 2) % 2);
  const auto [cores, threads] = LookAtNeighbours({0, 1, 2, 3, 4, 5, 6, 7}, folder_.path());
  EXPECT_THAT(cores, ElementsAre(0, 4, 2, 6, 1, 5, 3, 7));
  EXPECT_EQ(threads, 2u);
}

TEST_F(NeighboursTest, StandByTheirNumbersWhereTheKernelSaysNothing) {
  const auto [cores, threads] = LookAtNeighbours({2, 0, 1}, folder_.path());
  EXPECT_THAT(cores, ElementsAre(0, 1, 2));
  EXPECT_EQ(threads, 1u);
}

}  // namespace
}  // namespace slipway::launcher
