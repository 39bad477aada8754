// What supplies of files are made of: lists, counts, patience.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "staging/dataset/listing.h"
#include "staging/reader/arriving_files.h"
#include "staging/reader/supply_wait.h"
#include "staging/stream/count_records.h"
#include "tests/staging/listing_support.h"
#include "tests/staging/staging_support.h"

namespace slipway::staging {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(CountRecordsTest, CountsWhatIsCheapAndLeavesWhatItCannotRead) {
  TemporaryDirectory files;
  Put(files / "source/a.tfrecord", TfrecordBytes(3, 70'000));
  Put(files / "source/b.tfrecord", TfrecordBytes(5, 100));
  Put(files / "source/c.tfrecord", std::string(100'000, 'x'));
  auto plan = PlanFor(RequestFor(files / "source", files / "tier", DataFormat::kTfrecord));
  CountRecords(plan, CountWhen::kCheap, {});
  EXPECT_EQ(plan.files[0].records, 3U);
  EXPECT_EQ(plan.files[1].records, std::nullopt) << "to count small records is to read them";
  EXPECT_EQ(plan.files[2].records, std::nullopt);
  CountRecords(plan, CountWhen::kAlways, {});
  EXPECT_EQ(plan.files[1].records, 5U);
  EXPECT_EQ(plan.files[2].records, std::nullopt) << "staging says what is wrong with it";
  EXPECT_THROW(CountRecords(plan, CountWhen::kAlways, [] { return true; }), Error);
}

/// Time that passes only in sleep.
class SleepClock final : public Clock {
 public:
  WallTime Now() override { return {}; }
  SteadyTime Steady() override { return time_; }
  void Sleep(std::chrono::nanoseconds duration) override {
    time_ += std::chrono::duration_cast<SteadyTime::duration>(duration);
  }

 private:
  SteadyTime time_{};
};

TEST(StagerWatchTest, AMomentWithoutAStagerIsNoEnd) {
  TemporaryDirectory files;
  SleepClock clock;
  StagerWatch watch(files / "train-1", clock);
  EXPECT_FALSE(watch.IsGone());
  EXPECT_FALSE(watch.IsGone()) << "another thread that looks at the same time";
  clock.Sleep(499ms);
  EXPECT_FALSE(watch.IsGone());
  watch.Begin();
  clock.Sleep(499ms);
  EXPECT_FALSE(watch.IsGone()) << "there was news meanwhile";
  clock.Sleep(500ms);
  EXPECT_TRUE(watch.IsGone());
}

TEST(SupplyPatienceTest, WarnsOnceAMinuteWhileNothingComes) {
  SleepClock clock;
  std::vector<std::string> warnings;
  int ticks = 0;
  const SupplyWait wait{[&] { ++ticks; }, [&](std::string_view text) { warnings.emplace_back(text); }};
  SupplyPatience patience(wait, "'part-003.h5'", clock);
  const auto sleep_for = [&](std::chrono::seconds time) {
    for (const auto end = clock.Steady() + time; clock.Steady() < end;) patience.Sleep();
  };
  sleep_for(59s);
  EXPECT_TRUE(warnings.empty());
  EXPECT_NEAR(ticks, 59 * 50, 5);
  sleep_for(2s);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings[0], HasSubstr("waiting for 'part-003.h5' since 1"));
  patience.Restart();
  sleep_for(59s);
  EXPECT_EQ(warnings.size(), 1U);
  EXPECT_TRUE(patience.TimeToLook());
  EXPECT_FALSE(patience.TimeToLook());
}

TEST(ListingTest, SurvivesItsFileAndRefusesOthers) {
  TemporaryDirectory files;
  const Listing listing{DataFormat::kHdf5, {{"a/b.h5", Bytes{12}, 3}, {"c\n.h5", Bytes{0}, {}}}};
  EXPECT_EQ(ReadListing(files.path()), std::nullopt);
  WriteListing(files.path(), TextOf(listing));
  EXPECT_EQ(ReadListing(files.path()), listing);
  for (const auto* text :
       {"", "{", "[]", R"({"schema":"slipway.listing/1","format":"tfrecord","files":[]})",
        R"({"schema":"slipway.listing/1","format":"tfrecord","files":[{"path":"../x","bytes":1,"records":null}]})",
        R"({"schema":"slipway.listing/1","format":"tfrecord","files":[{"path":"/x","bytes":1,"records":null}]})",
        R"({"schema":"slipway.listing/1","format":"tfrecord","files":[{"path":"x","bytes":-1}]})"}) {
    WriteFile(files / kListingName, text);
    EXPECT_THAT(MessageOf([&] { ReadListing(files.path()); }), HasSubstr("is damaged")) << text;
  }
  WriteFile(files / kListingName, R"({"schema":"x"})");
  EXPECT_THAT(MessageOf([&] { ReadListing(files.path()); }), HasSubstr("is of another version of Slipway"));
}

}  // namespace
}  // namespace slipway::staging
