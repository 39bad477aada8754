// What the MPI of this machine says about memory of GPUs.

#include "runtime/group/mpi_gpu_support.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace slipway::runtime {
namespace {

class MpiGpuSupportHere : public testing::Test {
 protected:
  MpiGpuSupportHere() { ::unsetenv(kVariable); }
  ~MpiGpuSupportHere() override { ::unsetenv(kVariable); }

  static constexpr const char* kVariable = "MPICH_GPU_SUPPORT_ENABLED";
};

TEST_F(MpiGpuSupportHere, IsAnswered) {
  const auto support = AskMpiForGpuSupport(GpuMaker::kNvidia);
  EXPECT_FALSE(support.answered.empty()) << "Open MPI and MPICH have functions for it";
}

/// Of Cray MPICH, which has none of the functions.
TEST_F(MpiGpuSupportHere, MayBeSaidByAVariable) {
  const auto before = AskMpiForGpuSupport(GpuMaker::kNvidia);
  if (before.takes) GTEST_SKIP() << "this MPI says yes by itself";
  ::setenv(kVariable, "1", 1);
  for (const auto maker : {GpuMaker::kNvidia, GpuMaker::kAmd}) {
    EXPECT_TRUE(AskMpiForGpuSupport(maker).takes);
    EXPECT_EQ(AskMpiForGpuSupport(maker).answered, kVariable);
  }
  ::setenv(kVariable, "0", 1);
  EXPECT_FALSE(AskMpiForGpuSupport(GpuMaker::kNvidia).takes);
  EXPECT_EQ(AskMpiForGpuSupport(GpuMaker::kNvidia).answered, before.answered);
}

}  // namespace
}  // namespace slipway::runtime
