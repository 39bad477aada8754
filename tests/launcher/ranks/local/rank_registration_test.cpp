#include "launcher/ranks/local/rank_registration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace slipway::launcher {
namespace {

using testing::AllOf;
using testing::HasSubstr;

MpiLauncher Srun() { return {.mpi = Mpi::kOpenMpi, .program = "srun", .srun_interface = "pmix"}; }

TEST(RankRegistration, IsCompleteWithAllRanksInAnyOrder) {
  RankRegistration call({}, 3);
  for (const int rank : {2, 0}) EXPECT_EQ(call.Take(rank, 3), "");
  EXPECT_FALSE(call.Complete());
  EXPECT_EQ(call.Take(1, 3), "");
  EXPECT_TRUE(call.Complete());
}

TEST(RankRegistration, NamesAStarterOfLoneRanksAndTheRemedy) {
  EXPECT_THAT(RankRegistration({}, 2).Take(0, 1),
              AllOf(HasSubstr("mpirun started programs of world size 1 instead of 2"), HasSubstr("launch.mpi")));
  EXPECT_THAT(RankRegistration(Srun(), 2).Take(0, 1),
              AllOf(HasSubstr("srun --mpi=pmix"), HasSubstr("launch.slurm.start")));
}

TEST(RankRegistration, RefusesTheSameRankTwiceAndRanksThatThereAreNot) {
  RankRegistration call(Srun(), 2);
  EXPECT_EQ(call.Take(0, 2), "");
  EXPECT_THAT(call.Take(0, 2), HasSubstr("several ranks 0 of 2"));
  EXPECT_THAT(call.Take(2, 2), HasSubstr("a rank 2 of 2"));
  EXPECT_THAT(call.Take(-1, 2), HasSubstr("a rank -1 of 2"));
  EXPECT_FALSE(call.Complete());
}

}  // namespace
}  // namespace slipway::launcher
