#include "core/lock_holders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "core/files.h"
#include "tests/support/temp_directory.h"

namespace slipway {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST(LockHolders, ReadsOnlyWhatIsHeldByFlock) {
  const auto locks = ParseLocks(
      "1: FLOCK  ADVISORY  WRITE 25673 fe:00:10952930 0 EOF\n"
      "1: -> FLOCK  ADVISORY  WRITE 26173 fe:00:10952930 0 EOF\n"
      "2: POSIX  ADVISORY  READ 100 fe:00:7 0 EOF\n"
      "3: OFDLCK ADVISORY  READ -1 fe:00:8 0 EOF\n"
      "4: FLOCK  ADVISORY  READ 12 103:0a:18446744073709551615 0 EOF\n");
  ASSERT_EQ(locks.size(), 2u);
  EXPECT_EQ(locks[0].pid, 25673);
  EXPECT_EQ(locks[0].major, 0xfeu);
  EXPECT_EQ(locks[0].inode, 10952930u);
  EXPECT_EQ(locks[1].major, 0x103u);
  EXPECT_EQ(locks[1].minor, 0x0au);
}

TEST(LockHolders, LeavesOutLinesOfAnotherForm) {
  EXPECT_THAT(ParseLocks(""), IsEmpty());
  EXPECT_THAT(ParseLocks("nonsense\n1: FLOCK\n1: FLOCK ADVISORY WRITE x fe:00:1 0 EOF\n"), IsEmpty());
  EXPECT_THAT(ParseLocks("1: FLOCK ADVISORY WRITE 5 fe:00:1x 0 EOF\n1: FLOCK ADVISORY WRITE 5 <none>:0 0 EOF"),
              IsEmpty());
}

TEST(LockHolders, NamesThisProcessWhileItHoldsTheLock) {
  const test::TempDirectory directory;
  const auto path = directory / "lock";
  EXPECT_THAT(HoldersOf(path), IsEmpty());
  {
    const auto lock = FileLock::Acquire(path, LockMode::kShared);
    const auto holders = HoldersOf(path);
    ASSERT_EQ(holders.size(), 1u);
    EXPECT_EQ(holders[0].pid, ::getpid());
    EXPECT_THAT(holders[0].command, StartsWith("core_tests"));
  }
  EXPECT_THAT(HoldersOf(path), IsEmpty());
}

TEST(LockHolders, AreDescribed) {
  EXPECT_EQ(Describe({{12, "slipway"}}), "process 12 (slipway)");
  EXPECT_EQ(Describe({{12, "slipway"}, {14, ""}}), "processes 12 (slipway), 14");
  EXPECT_EQ(Describe(std::vector<LockHolder>()), "a process that cannot be seen from here");
  EXPECT_EQ(ToJson({{12, "slipway"}}).dump(), R"([{"pid":12,"command":"slipway"}])");
}

}  // namespace
}  // namespace slipway
