// Run folders that a manager cannot write into.

#include "launcher/run_folder/folder_trouble.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "core/files.h"
#include "launcher/run_folder/final_state_reserve.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

TEST(FolderTrouble, IsFoundByTrying) {
  const test::TempDirectory directory;
  EXPECT_EQ(TroubleOf(directory.path()), "");
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
  EXPECT_EQ(TroubleOf(directory / "none"), "its run folder cannot be written to: No such file or directory");
}

TEST(FolderTrouble, IsNoneOfThoseWhoMayOnlyRead) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  const test::TempDirectory directory;
  std::filesystem::permissions(directory.path(), std::filesystem::perms::owner_write,
                               std::filesystem::perm_options::remove);
  EXPECT_EQ(TroubleOf(directory.path()), "");
}

TEST(FinalStateReserve, TakesRoomUntilItIsGivenUp) {
  const test::TempDirectory directory;
  FinalStateReserve reserve(directory.path());
  EXPECT_GT(FileBytes(directory / ".reserve"), 64u << 10);
  reserve.GiveUp();
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(FinalStateReserve, IsNoneWhereNothingCanBeWritten) {
  const FinalStateReserve reserve("/proc/self");
  EXPECT_FALSE(std::filesystem::exists("/proc/self/.reserve"));
}

}  // namespace
}  // namespace slipway::launcher
