// Whose file system a path lies on, by the kernel's list of mounts.

#include <gtest/gtest.h>

#include "launcher/cli/doctor/run_root.h"

namespace slipway::launcher {
namespace {

constexpr const char* kMounts =
    "22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n"
    "30 22 0:25 / /users rw - nfs4 server:/users rw\n"
    "31 30 0:26 / /users/me/my\\040data rw master:3 propagate_from:1 - lustre mgs:/fs rw\n"
    "32 22 0:27 / /scratch rw - xfs /dev/vdb rw\n"
    "33 22 0:28 / /scratch rw - tmpfs tmpfs rw\n";

TEST(FileSystem, IsThatOfTheInnermostMount) {
  EXPECT_EQ(FileSystemOf("/etc", kMounts), "ext4");
  EXPECT_EQ(FileSystemOf("/users", kMounts), "nfs4");
  EXPECT_EQ(FileSystemOf("/users/me", kMounts), "nfs4");
  EXPECT_EQ(FileSystemOf("/users/me/my data/runs", kMounts), "lustre");
  EXPECT_EQ(FileSystemOf("/usersmith", kMounts), "ext4") << "a name that only begins like a mount point";
}

TEST(FileSystem, IsTheOneMountedLastAtAPoint) { EXPECT_EQ(FileSystemOf("/scratch/x", kMounts), "tmpfs"); }

TEST(FileSystem, IsUnknownWhereTheListTellsNothing) {
  EXPECT_EQ(FileSystemOf("/etc", ""), "");
  EXPECT_EQ(FileSystemOf("/etc", "22 1 254:1 / / rw,relatime shared:1 -\n\n- - -\n22 1\n"), "");
}

TEST(FileSystem, TakesHalfAnEscapeAsItStands) {
  EXPECT_EQ(FileSystemOf("/a\\04", "22 1 0:1 / /a\\04 rw - ext4 x rw\n"), "ext4");
}

}  // namespace
}  // namespace slipway::launcher
