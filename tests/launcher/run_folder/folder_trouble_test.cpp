// Run folders that a manager cannot write into, and what they say meanwhile.

#include "launcher/run_folder/folder_trouble.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "core/files.h"
#include "launcher/run_folder/final_state_reserve.h"
#include "launcher/run_folder/pause_note.h"
#include "launcher/run_folder/run_folder.h"
#include "launcher/view/file_stamp.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

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

TEST(PauseNote, IsReadWhileTheRunStandsStill) {
  const test::TempDirectory directory;
  {
    PauseNote note(directory.path());
    EXPECT_FALSE(ReadPause(directory.path()));
    note.Set({ensemble::PauseCause::kBookHeld, "'trials.db' is locked by process 7 (sqlite3)"});
    const auto pause = ReadPause(directory.path());
    ASSERT_TRUE(pause);
    EXPECT_THAT(Describe(*pause),
                AllOf(StartsWith("paused since 2"), HasSubstr("process 7 (sqlite3); end the process")));
    EXPECT_EQ(ToJson(*pause)["cause"], "book_held");
    note.Clear();
    EXPECT_FALSE(ReadPause(directory.path()));
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(PauseNote, NeedsNoSpaceToBeWritten) {
  const test::TempDirectory directory;
  PauseNote note(directory.path());
  const auto before = StampOf(PauseNoteOf(directory.path()));
  note.Set({ensemble::PauseCause::kDiskFull, std::string(100'000, 'x')});
  const auto after = StampOf(PauseNoteOf(directory.path()));
  EXPECT_EQ(after.inode, before.inode);
  EXPECT_EQ(after.bytes, before.bytes);
  EXPECT_EQ(ReadPause(directory.path())->cause, ensemble::PauseCause::kDiskFull);
}

TEST(PauseNote, MeansNothingWhenItIsDamagedOrCannotBeMade) {
  const test::TempDirectory directory;
  for (const auto* text : {"", "{", "[]", R"({"cause":"thirst","reason":"","since":""})", R"({"cause":"disk_full"})"}) {
    WriteFile(PauseNoteOf(directory.path()), text);
    EXPECT_FALSE(ReadPause(directory.path())) << text;
  }
  PauseNote note("/proc/self");
  note.Set({ensemble::PauseCause::kDiskFull, "full"});
  note.Clear();
  EXPECT_FALSE(ReadPause("/proc/self"));
}

TEST(PauseNote, IsTheReasonOfARunAtWorkOnly) {
  const test::TempDirectory directory;
  const auto run = RunFolder::Create(directory.path(), "exp", false);
  PauseNote note(run.path());
  note.Set({ensemble::PauseCause::kDiskFull, "No space left on device in '/scratch'"});
  auto state = run.ReadState();
  EXPECT_EQ(state.reason, "");
  state.phase = Phase::kRunning;
  run.WriteState(state);
  EXPECT_THAT(run.ReadState().reason, EndsWith("device in '/scratch'; free space there, and it goes on by itself"));
  EndAs(state, Phase::kFailed, cause::DiskFull{"full"});
  run.WriteState(state);
  EXPECT_THAT(run.ReadState().reason, Not(HasSubstr("paused")));
}

}  // namespace
}  // namespace slipway::launcher
