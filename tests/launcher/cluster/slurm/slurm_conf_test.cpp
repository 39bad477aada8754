// Where slurm.conf is looked for.

#include "launcher/cluster/slurm_conf.h"

#include <gtest/gtest.h>

#include "core/files.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {
namespace fs = std::filesystem;

class SlurmConf : public testing::Test {
 protected:
  fs::path Put(const fs::path& path) const {
    MakeDirectories((root_ / path).parent_path());
    WriteFile(root_ / path, "ClusterName=c\n");
    return root_ / path;
  }
  std::optional<fs::path> Find() const { return FindSlurmConf(environment_, root_.path()); }

  test::TempDirectory root_;
  Environment environment_;
};

TEST_F(SlurmConf, IsNowhereOnAMachineWithoutSlurm) { EXPECT_EQ(Find(), std::nullopt); }

TEST_F(SlurmConf, IsWhatTheVariableNamesThereOrNot) {
  Put("etc/slurm/slurm.conf");
  environment_.Set("SLURM_CONF", "/nowhere/slurm.conf");
  EXPECT_EQ(Find(), "/nowhere/slurm.conf");
  environment_.Set("SLURM_CONF", "");
  EXPECT_EQ(Find(), root_ / "etc/slurm/slurm.conf");
}

TEST_F(SlurmConf, IsWhatTheControllerSentToANodeWithoutFiles) {
  const auto sent = Put("run/slurm/conf/slurm.conf");
  EXPECT_EQ(Find(), sent);
  const auto local = Put("etc/slurm/slurm.conf");
  EXPECT_EQ(Find(), local);
}

}  // namespace
}  // namespace slipway::launcher
