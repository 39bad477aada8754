#include "core/control_groups.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "core/files.h"
#include "tests/support/temp_directory.h"

namespace slipway {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

class ProcessorQuotaTest : public testing::Test {
 protected:
  void SetMembership(const std::string& lines) { WriteFileAtomically(paths_.membership, lines); }
  void Put(const std::string& file, const std::string& text) {
    const auto path = paths_.mount / file;
    MakeDirectories(path.parent_path());
    WriteFileAtomically(path, text + "\n");
  }

  test::TempDirectory files_;
  ControlGroupPaths paths_{files_ / "cgroup", files_ / "groups"};
};

TEST_F(ProcessorQuotaTest, IsThatOfTheTightestGroupAbove) {
  SetMembership("0::/job_1/step_0\n");
  Put("job_1/step_0/cpu.max", "max 100000");
  EXPECT_EQ(ProcessorQuota(paths_), kNone);
  Put("job_1/cpu.max", "400000 100000");
  EXPECT_EQ(ProcessorQuota(paths_), 4);
  Put("job_1/step_0/cpu.max", "150000 100000");
  EXPECT_EQ(ProcessorQuota(paths_), 1.5);
}

TEST_F(ProcessorQuotaTest, IsThatOfAContainerThatSeesItsGroupAsTheRoot) {
  SetMembership("0::/\n");
  Put("cpu.max", "200000 100000");
  EXPECT_EQ(ProcessorQuota(paths_), 2);
}

TEST_F(ProcessorQuotaTest, ReadsVersionOneToo) {
  SetMembership("5:memory:/x\n4:cpu,cpuacct:/job_1\n");
  Put("cpu/job_1/cpu.cfs_period_us", "50000");
  Put("cpu/job_1/cpu.cfs_quota_us", "-1");
  EXPECT_EQ(ProcessorQuota(paths_), kNone);
  Put("cpu/job_1/cpu.cfs_quota_us", "150000");
  EXPECT_EQ(ProcessorQuota(paths_), 3);
}

TEST_F(ProcessorQuotaTest, IsNoneWhereTheKernelSaysNothing) {
  EXPECT_EQ(ProcessorQuota({"/nonexistent/cgroup", "/nonexistent/groups"}), kNone);
  SetMembership("garbage\n::\n0::/job_1\n");
  Put("job_1/cpu.max", "");
  EXPECT_EQ(ProcessorQuota(paths_), kNone);
}

/// A folder is opened, and cannot be read: EISDIR, also for root.
TEST_F(ProcessorQuotaTest, OfAFileThatCannotBeReadIsNone) {
  SetMembership("0::/job_1/step_0\n4:cpu:/job_1\n");
  MakeDirectories(paths_.mount / "job_1/step_0/cpu.max");
  MakeDirectories(paths_.mount / "cpu/job_1/cpu.cfs_quota_us");
  EXPECT_EQ(ProcessorQuota(paths_), kNone);
  Put("job_1/cpu.max", "300000 100000");
  EXPECT_EQ(ProcessorQuota(paths_), 3) << "the group above counts";
}

TEST_F(ProcessorQuotaTest, IsNoneWhereTheMembershipCannotBeRead) {
  MakeDirectories(paths_.membership);
  Put("cpu.max", "300000 100000");
  EXPECT_EQ(ProcessorQuota(paths_), kNone);
}

/// Another group may have the same path below the mount, or beside it.
TEST_F(ProcessorQuotaTest, IsNotThatOfAPathOutsideOfTheNamespace) {
  SetMembership("0::/../x\n");
  Put("x/cpu.max", "100000 100000");
  Put("../x/cpu.max", "100000 100000");
  Put("../cpu.max", "100000 100000");
  EXPECT_EQ(ProcessorQuota(paths_), kNone);
  Put("cpu.max", "300000 100000");
  EXPECT_EQ(ProcessorQuota(paths_), 3);
}

}  // namespace
}  // namespace slipway
