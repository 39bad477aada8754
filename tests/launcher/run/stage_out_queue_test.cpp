#include "launcher/run/results/stage_out_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/checkpoint.h"
#include "core/error.h"
#include "core/process_identity.h"
#include "launcher/plan/plan.h"
#include "launcher/run/results/settle_stage_out.h"
#include "launcher/run/results/stage_out_record.h"
#include "tests/support/kept_output.h"
#include "tests/support/run_until.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class StageOutQueueTest : public testing::Test {
 protected:
  StageOutRecord Record(StageOutState state) const { return {"ram", place_ / "tier/.out/box", HostName(), state}; }

  test::TempDirectory place_;
  RunFolder run_ = RunFolder::Create(place_ / "runs", "test", false);
};

TEST_F(StageOutQueueTest, IsReadAsItWasWritten) {
  EXPECT_FALSE(ReadOutboxRecord(run_));
  for (const auto state : {StageOutState::kIntended, StageOutState::kOpen, StageOutState::kSettled}) {
    WriteOutboxRecord(run_, Record(state));
    const auto read = ReadOutboxRecord(run_);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->directory, Record(state).directory);
    EXPECT_EQ(read->tier, "ram");
    EXPECT_EQ(read->host, HostName());
    EXPECT_EQ(read->state, state);
  }
}

TEST_F(StageOutQueueTest, RemembersHowItIsToBeCopiedOut) {
  auto record = Record(StageOutState::kOpen);
  record.keep = 7;
  record.bandwidth = Bytes{500'000'000};
  WriteOutboxRecord(run_, record);
  EXPECT_EQ(ReadOutboxRecord(run_)->keep, 7);
  EXPECT_EQ(ReadOutboxRecord(run_)->bandwidth, Bytes{500'000'000});
}

TEST_F(StageOutQueueTest, IsKnownByItsNameWhenACleanerHasTakenTheFileThatSaysWhose) {
  auto record = Record(StageOutState::kOpen);
  MakeOutbox(run_, record);
  fs::remove(record.directory / "owner");
  EXPECT_TRUE(LostOutbox(run_, record)) << "anybody could be called so";
  record.directory = StageOutDirectory(place_ / "tier", run_.path());
  MakeOutbox(run_, record);
  fs::remove(record.directory / "owner");
  EXPECT_TRUE(HasOutbox(run_, record));
  RemoveOutbox(run_, record);
  EXPECT_FALSE(fs::exists(record.directory));
}

TEST_F(StageOutQueueTest, OfAnotherHostIsThereWhenThatHostsTierIsThisOnes) {
  for (const auto state : {StageOutState::kIntended, StageOutState::kOpen, StageOutState::kSettled}) {
    auto record = Record(state);
    EXPECT_FALSE(IsElsewhere(run_, record));
    record.host = "another";
    EXPECT_TRUE(IsElsewhere(run_, record));
    MakeOutbox(run_, record);
    EXPECT_FALSE(IsElsewhere(run_, record));
    RemoveTree(record.directory);
  }
}

TEST_F(StageOutQueueTest, SaysThatItsRecordIsDamaged) {
  for (const char* text : {"", "{", "[]", "{\"tier\": 3}", "null"}) {
    WriteFile(run_.path() / "outbox.json", text);
    EXPECT_THROW(ReadOutboxRecord(run_), Error) << text;
  }
}

TEST_F(StageOutQueueTest, IsLostOnlyWhenSomethingWasInIt) {
  EXPECT_FALSE(LostOutbox(run_, Record(StageOutState::kIntended)));
  EXPECT_FALSE(LostOutbox(run_, Record(StageOutState::kSettled)));
  EXPECT_TRUE(LostOutbox(run_, Record(StageOutState::kOpen)));
  MakeOutbox(run_, Record(StageOutState::kOpen));
  EXPECT_FALSE(LostOutbox(run_, Record(StageOutState::kOpen)));
}

TEST_F(StageOutQueueTest, IsNotLostWhereItCannotBeLookedAt) {
  const auto record = Record(StageOutState::kOpen);
  MakeOutbox(run_, record);
  WriteOutboxRecord(run_, record);
  const auto parent = record.directory.parent_path();
  fs::rename(parent, place_ / "tier/aside");
  fs::create_symlink(parent.filename(), parent);  // a circle: ELOOP, for root too
  try {
    LostOutbox(run_, record);
    ADD_FAILURE() << "it may be there";
  } catch (const SystemError& error) {
    EXPECT_EQ(error.code(), ELOOP);
    EXPECT_THAT(error.message(), HasSubstr(record.directory.string()));
    EXPECT_THAT(error.next_step(), HasSubstr("nothing was removed"));
  }
  EXPECT_THROW(HasOutbox(run_, record), SystemError);
  EXPECT_THROW(RemoveOutbox(run_, record), SystemError);
  auto of_another_host = record;
  of_another_host.host = "another";
  EXPECT_THROW(IsElsewhere(run_, of_another_host), SystemError);
  EXPECT_TRUE(ReadOutboxRecord(run_));
  fs::remove(parent);
  fs::rename(place_ / "tier/aside", parent);
  EXPECT_TRUE(HasOutbox(run_, record));
}

TEST_F(StageOutQueueTest, OfAnotherRunIsNotTouched) {
  const auto other = RunFolder::Create(place_ / "runs", "other", false);
  MakeOutbox(other, Record(StageOutState::kOpen));
  WriteOutboxRecord(run_, Record(StageOutState::kOpen));
  EXPECT_TRUE(LostOutbox(run_, Record(StageOutState::kOpen)));
  RemoveOutbox(run_, Record(StageOutState::kOpen));
  EXPECT_TRUE(HasOutbox(other, Record(StageOutState::kOpen)));
  EXPECT_FALSE(ReadOutboxRecord(run_));
}

TEST_F(StageOutQueueTest, RecordThatNamesAnyOtherDirectoryRemovesNothing) {
  WriteFile(place_ / "precious", "x");
  fs::create_directories(place_ / "home");
  fs::create_directory_symlink(place_ / "home", place_ / "link");
  for (const auto& path : {place_ / "home", place_ / "link", place_ / "precious"}) {
    auto record = Record(StageOutState::kSettled);
    record.directory = path;
    RemoveOutbox(run_, record);
    EXPECT_TRUE(fs::exists(path)) << path;
  }
}

TEST_F(StageOutQueueTest, IsSettledWhateverTheLastRemovalLeft) {
  const auto record = Record(StageOutState::kSettled);
  MakeOutbox(run_, record);
  fs::rename(record.directory, record.directory.parent_path() / ".tmp-box");  // ended while it was removed
  WriteOutboxRecord(run_, record);
  EXPECT_FALSE(SettleStageOut(run_, record, {}).failure);
  EXPECT_FALSE(ReadOutboxRecord(run_));
  EXPECT_TRUE(fs::is_empty(record.directory.parent_path()));
}

TEST_F(StageOutQueueTest, HasAPlaceForEachTrial) {
  const auto record = Record(StageOutState::kOpen);
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

TEST_F(StageOutQueueTest, StaysWhereItCannotBeRead) {
  const auto record = Record(StageOutState::kOpen);
  MakeOutbox(run_, record);
  WriteFile(record.directory / "trials", "no directory");
  WriteOutboxRecord(run_, record);
  EXPECT_THROW(SettleStageOut(run_, record, {}), SystemError);
  EXPECT_TRUE(HasOutbox(run_, record));
  fs::rename(record.directory / "trials", record.directory / "checkpoints");
  const auto settled = SettleStageOut(run_, record, {});
  ASSERT_TRUE(settled.failure);
  EXPECT_THAT(settled.failure->message(), HasSubstr("checkpoints' is not a directory any longer"));
  EXPECT_TRUE(fs::exists(record.directory / "checkpoints"));
  EXPECT_EQ(ReadOutboxRecord(run_)->state, StageOutState::kOpen);
}

TEST_F(StageOutQueueTest, NamesTheResultsOfAllTrialsThatCannotBeCopied) {
  const auto record = Record(StageOutState::kOpen);
  MakeOutbox(run_, record);
  for (const auto* trial : {"00003", "00007"}) {
    const auto outputs = record.directory / "trials" / trial / "outputs";
    fs::create_directories(outputs);
    WriteFile(outputs / "good", trial);
    fs::create_symlink("/etc/hostname", outputs / "out");
  }
  const auto settled = SettleStageOut(run_, record, {});
  ASSERT_TRUE(settled.failure);
  EXPECT_THAT(settled.failure->message(),
              testing::AllOf(HasSubstr("00003/outputs/out'"), HasSubstr("00007/outputs/out'")));
  for (const auto* trial : {"00003", "00007"}) {
    EXPECT_EQ(ReadFile(run_.trials() / trial / "outputs/good"), trial);
    EXPECT_FALSE(fs::exists(record.directory / "trials" / trial / "outputs/good"));
    fs::remove(record.directory / "trials" / trial / "outputs/out");
  }
  EXPECT_FALSE(SettleStageOut(run_, record, {}).failure);
}

class LiveOutboxTest : public StageOutQueueTest {
 protected:
  LiveOutboxTest() { MakeOutbox(run_, record_); }

  static void Write(const staging::OutPlace& place, std::uint64_t step) {
    const auto prepared = BeginCheckpoint(place.checkpoints(), step);
    WriteFile(prepared / "weights", "weights");
    CommitCheckpoint(prepared, {{}, step, 0, 1, ""});
  }

  /// Serves the loop meanwhile.
  void WaitUntil(const std::function<bool()>& condition) { ASSERT_TRUE(test::RunUntil(loop_, condition)); }

  StageOutRecord record_ = Record(StageOutState::kOpen);
  EventLoop loop_;
  test::KeptOutput output_;
  const fs::path trial_ = run_.trials() / "00003";
  const fs::path shared_ = trial_ / "checkpoints/step-000000000001";
};

TEST_F(LiveOutboxTest, CopiesOutWhatAnEarlierManagerLeftBeforeTheTrialStartsAgain) {
  Write(OutPlaceFor(run_, record_, trial_).place, 1);
  const StageOutQueue stage_out_queue(run_, record_, loop_, output_);
  WaitUntil([&] { return ReadCheckpoint(shared_).has_value(); });
}

TEST_F(LiveOutboxTest, ReadsTheNewestOnTheSharedSideOnceMoreBeforeThePlaceGoes) {
  StageOutQueue stage_out_queue(run_, record_, loop_, output_);
  const auto place = stage_out_queue.Watch(trial_);
  Write(place, 1);
  WaitUntil([&] { return ReadCheckpoint(shared_).has_value(); });
  WriteFile(shared_ / "weights", "flipped");
  stage_out_queue.Close(trial_);
  WaitUntil([&] { return !fs::exists(place.tier); });
  EXPECT_TRUE(ReadCheckpoint(shared_));
}

TEST_F(LiveOutboxTest, SaysWhatToDoWhereAProgramHasReplacedItsFolder) {
  StageOutQueue stage_out_queue(run_, record_, loop_, output_);
  for (const auto* name : {"checkpoints", "outputs"}) {
    const auto replaced = stage_out_queue.Watch(trial_).tier / name;
    fs::remove(replaced);
    WriteFile(replaced, "weights");
    try {
      stage_out_queue.Watch(trial_);
      ADD_FAILURE() << "the program could not write there";
    } catch (const Error& error) {
      EXPECT_THAT(error.message(), HasSubstr(replaced.string() + "' is not a directory any longer"));
      EXPECT_THAT(error.next_step(), HasSubstr("move it away"));
    }
    const auto settled = SettleStageOut(run_, record_, {});
    ASSERT_TRUE(settled.failure) << "it stays in the tier";
    EXPECT_THAT(settled.failure->message(), HasSubstr("is not a directory any longer"));
    EXPECT_EQ(ReadFile(replaced), "weights");
    fs::remove(replaced);
  }
  stage_out_queue.Watch(trial_);
}

}  // namespace
}  // namespace slipway::launcher
