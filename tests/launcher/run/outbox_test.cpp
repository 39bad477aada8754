#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/process_identity.h"
#include "launcher/run/outbox_record.h"
#include "launcher/run/settle_outbox.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class OutboxTest : public testing::Test {
 protected:
  OutboxRecord Record(OutboxState state) const { return {"ram", place_ / "tier/.out/box", HostName(), state}; }

  test::TempDirectory place_;
  RunFolder run_ = RunFolder::Create(place_ / "runs", "test", false);
};

TEST_F(OutboxTest, IsReadAsItWasWritten) {
  EXPECT_FALSE(ReadOutboxRecord(run_));
  for (const auto state : {OutboxState::kIntended, OutboxState::kOpen, OutboxState::kSettled}) {
    WriteOutboxRecord(run_, Record(state));
    const auto read = ReadOutboxRecord(run_);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->directory, Record(state).directory);
    EXPECT_EQ(read->tier, "ram");
    EXPECT_EQ(read->host, HostName());
    EXPECT_EQ(read->state, state);
  }
}

TEST_F(OutboxTest, SaysThatItsRecordIsDamaged) {
  for (const char* text : {"", "{", "[]", "{\"tier\": 3}", "null"}) {
    WriteFile(run_.path() / "outbox.json", text);
    EXPECT_THROW(ReadOutboxRecord(run_), Error) << text;
  }
}

TEST_F(OutboxTest, IsLostOnlyWhenSomethingWasInIt) {
  EXPECT_FALSE(LostOutbox(run_, Record(OutboxState::kIntended)));
  EXPECT_FALSE(LostOutbox(run_, Record(OutboxState::kSettled)));
  EXPECT_TRUE(LostOutbox(run_, Record(OutboxState::kOpen)));
  MakeOutbox(run_, Record(OutboxState::kOpen));
  EXPECT_FALSE(LostOutbox(run_, Record(OutboxState::kOpen)));
}

TEST_F(OutboxTest, OfAnotherRunIsNotTouched) {
  const auto other = RunFolder::Create(place_ / "runs", "other", false);
  MakeOutbox(other, Record(OutboxState::kOpen));
  WriteOutboxRecord(run_, Record(OutboxState::kOpen));
  EXPECT_TRUE(LostOutbox(run_, Record(OutboxState::kOpen)));
  RemoveOutbox(run_, Record(OutboxState::kOpen));
  EXPECT_TRUE(HasOutbox(other, Record(OutboxState::kOpen)));
  EXPECT_FALSE(ReadOutboxRecord(run_));
}

TEST_F(OutboxTest, RecordThatNamesAnyOtherDirectoryRemovesNothing) {
  WriteFile(place_ / "precious", "x");
  fs::create_directories(place_ / "home");
  fs::create_directory_symlink(place_ / "home", place_ / "link");
  for (const auto& path : {place_ / "home", place_ / "link", place_ / "precious"}) {
    auto record = Record(OutboxState::kSettled);
    record.directory = path;
    RemoveOutbox(run_, record);
    EXPECT_TRUE(fs::exists(path)) << path;
  }
}

TEST_F(OutboxTest, IsSettledWhateverTheLastRemovalLeft) {
  const auto record = Record(OutboxState::kSettled);
  MakeOutbox(run_, record);
  fs::rename(record.directory, record.directory.parent_path() / ".tmp-box");  // ended while it was removed
  WriteOutboxRecord(run_, record);
  EXPECT_FALSE(SettleOutbox(run_, record, 1, {}).failure);
  EXPECT_FALSE(ReadOutboxRecord(run_));
  EXPECT_TRUE(fs::is_empty(record.directory.parent_path()));
}

TEST_F(OutboxTest, HasAPlaceForEachTrial) {
  const auto record = Record(OutboxState::kOpen);
  MakeOutbox(run_, record);
  fs::create_directories(record.directory / "trials/00007/checkpoints");
  fs::create_directories(record.directory / "trials/not-a-trial");
  fs::create_directories(record.directory / "outputs");
  const auto places = OutPlacesIn(run_, record);
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places[0].trial, 7);
  EXPECT_EQ(places[0].place.folder, run_.trials() / "00007");
  EXPECT_EQ(places[1].place.folder, run_.path());
}

}  // namespace
}  // namespace slipway::launcher
