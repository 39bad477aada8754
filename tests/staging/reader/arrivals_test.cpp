// Reading a dataset while it is being staged: real staging on another thread or in another process.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "core/error.h"
#include "core/files.h"
#include "staging/copy/bandwidth.h"
#include "staging/dataset/listing.h"
#include "staging/formats/hdf5.h"
#include "staging/generation/stage.h"
#include "staging/reader/arriving_files.h"
#include "staging/reader/file_supply.h"
#include "staging/reader/sharding.h"
#include "staging/stream/count_records.h"
#include "staging/stream/stream_stager.h"
#include "tests/staging/hdf5_support.h"
#include "tests/staging/reader/supply_support.h"
#include "tests/staging/staging_support.h"

namespace slipway::staging {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;

const std::vector<int> kFiles = {5, 0, 9, 3, 12, 1, 7, 20};

class ArrivalsTest : public testing::Test {
 protected:
  void SetUp() override {
    MakeNumberedFiles(source_, kFiles);
    MakeManifest(source_, kFiles);
  }

  StagingPlan Plan() const { return PlanFor(RequestFor(source_, root_, DataFormat::kTfrecord)); }

  /// Files one after the other in the order of seed 7. `before(n)` is called before the n-th.
  static StageOptions InOrder(const StagingPlan& plan, std::function<void(std::size_t)> before = {}) {
    StageOptions options;
    options.order = FileOrder(plan.files.size(), 7, 0);
    options.copier = [before](const StagingPlan& all, const fs::path& directory, const CopyOptions& copy,
                              const StageOptions& given) {
      std::vector<CopiedFile> copied(all.files.size());
      CopyLimits limits(Bytes{0});
      FileCopier copier(directory, copy, limits);
      for (std::size_t n = 0; n < given.order.size(); ++n) {
        if (before) before(n);
        const auto file = given.order[n];
        copied[file] = copier.Copy(all.files[file], file, [](std::uint64_t) {});
      }
      return copied;
    };
    return options;
  }

  static void AwaitStart(const StagingPlan& plan) {
    while (!ReadListing(plan.root / ".staging" / plan.generation) && !fs::exists(plan.directory)) {
      std::this_thread::sleep_for(1ms);
    }
  }

  /// Stages on a thread of its own and stops before file `stop` of the order, until it may go on or its scope ends.
  class PausedStager {
   public:
    PausedStager(const StagingPlan& plan, std::size_t stop)
        : thread_([this, &plan, stop] {
            Stage(plan, InOrder(plan, [this, stop](std::size_t n) {
                    while (n == stop && !go_on_) std::this_thread::sleep_for(1ms);
                  }));
          }) {
      AwaitStart(plan);
    }
    ~PausedStager() { Finish(); }
    void GoOn() { go_on_ = true; }
    void Finish() {
      GoOn();
      if (thread_.joinable()) thread_.join();
    }

   private:
    std::atomic<bool> go_on_ = false;
    std::thread thread_;
  };

  TemporaryDirectory files_;
  fs::path source_ = files_ / "source";
  fs::path root_ = files_ / "tier";
};

TEST_F(ArrivalsTest, EveryRankReadsTheSameAsFromThePublishedGenerationWhateverArrivesWhen) {
  const auto plan = Plan();
  for (const int world : {1, 2, 3}) {
    fs::remove_all(root_);
    std::vector<std::vector<std::int64_t>> early(static_cast<std::size_t>(world));
    std::thread stager(
        [&] { Stage(plan, InOrder(plan, [](std::size_t n) { std::this_thread::sleep_for(n * 4ms); })); });
    AwaitStart(plan);
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < world; ++rank) {
      ranks.emplace_back([&, rank] {
        early[static_cast<std::size_t>(rank)] = ReadIds(plan.directory, NumberedOptions(rank, world, 2));
      });
    }
    for (auto& rank : ranks) rank.join();
    stager.join();
    for (int rank = 0; rank < world; ++rank) {
      const auto& ids = early[static_cast<std::size_t>(rank)];
      EXPECT_EQ(ids.size(), early[0].size());
      EXPECT_EQ(ids, ReadIds(plan.directory, NumberedOptions(rank, world, 2))) << rank << " of " << world;
    }
  }
}

TEST_F(ArrivalsTest, ReadingBeginsWithTheFirstFileAndNeedsOnlyWhatHasArrived) {
  const auto plan = Plan();
  std::atomic<std::size_t> read = 0;
  std::atomic<bool> stop_waiting = false;
  // The last files come only when something has been read.
  std::thread stager([&] {
    Stage(plan, InOrder(plan, [&](std::size_t n) {
            while (n >= 6 && read == 0 && !stop_waiting) std::this_thread::sleep_for(1ms);
          }));
  });
  AwaitStart(plan);
  const auto ids = ReadIds(plan.directory, NumberedOptions(0, 1, 1), [&] { ++read; });
  stop_waiting = true;
  stager.join();
  EXPECT_EQ(ids.size(), 56U) << "57 records in batches of 2";
}

TEST_F(ArrivalsTest, GivesFilesInTheOrderOfTheSeedWithTheirRecordsAndOverThePublishing) {
  const auto plan = Plan();
  PausedStager stager(plan, 3);
  const auto supply = OpenSupply(plan.directory, 7);
  EXPECT_EQ(supply->Order(0), FileOrder(kFiles.size(), 7, 0));
  EXPECT_EQ(supply->listing().files.size(), kFiles.size());
  for (std::size_t place = 0; place < 3; ++place) {
    const auto file = supply->Take(0, place, {});
    const auto number = supply->Order(0)[place];
    EXPECT_EQ(file.records, static_cast<std::uint64_t>(kFiles[number]));
    ASSERT_TRUE(file.index) << "no scan is needed";
    EXPECT_EQ(file.index->offsets.size(), static_cast<std::size_t>(kFiles[number]));
    EXPECT_THAT(file.path.string(), HasSubstr(".staging"));
    EXPECT_TRUE(fs::exists(file.path));
  }
  stager.Finish();
  for (std::size_t place = 0; place < kFiles.size(); ++place) {
    EXPECT_EQ(supply->Take(0, place, {}).path.parent_path(), plan.directory) << "looked up again";
  }
  EXPECT_THROW(supply->Take(0, kFiles.size(), {}), Error);
}

TEST_F(ArrivalsTest, AFileThatMovesBetweenTakingAndOpeningIsTakenAgain) {
  const auto plan = Plan();
  PausedStager stager(plan, 1);
  const auto supply = OpenSupply(plan.directory, 7);
  int attempts = 0;
  const auto bytes = OpenSupplied(*supply, 0, 0, {}, [&](const DatasetFile& file) {
    if (++attempts == 1) {
      stager.Finish();
    }
    return ReadFile(file.path).size();
  });
  EXPECT_EQ(attempts, 2);
  EXPECT_EQ(bytes, supply->listing().files[supply->Order(0)[0]].bytes.count);
}

TEST_F(ArrivalsTest, AFileThatGoesAndComesBackWhileItIsOpenedIsTakenAgain) {
  const auto plan = Plan();
  Stage(plan);
  const auto supply = OpenSupply(plan.directory, 7);
  int attempts = 0;
  const auto open = [&](bool comes_back) {
    return [&, comes_back](const DatasetFile& file) {
      if (++attempts > 1) return true;
      const auto content = ReadFile(file.path);
      if (comes_back) fs::remove(file.path);
      if (comes_back) WriteFile(file.path, content);
      throw Error(ErrorKind::kEnvironment, "not there");
    };
  };
  EXPECT_TRUE(OpenSupplied(*supply, 0, 0, {}, open(true)));
  EXPECT_EQ(attempts, 2);
  attempts = 0;
  EXPECT_THROW(OpenSupplied(*supply, 0, 0, {}, open(false)), Error);
  EXPECT_EQ(attempts, 1) << "a file that stayed is opened once";
}

TEST_F(ArrivalsTest, AReaderGoesOnAfterASeekThatCannotBe) {
  const auto plan = Plan();
  PausedStager stager(plan, 4);
  auto options = NumberedOptions(0, 1, 1);
  options.shares = NodeShares{{{57, 1}}, 0};
  std::vector<std::int64_t> ids;
  {
    auto reader = BatchReader::Open(plan.directory, options);
    const auto take = [&](const Batch* batch) {
      const auto* numbers = reinterpret_cast<const std::int64_t*>(batch->fields[0].values.data());
      ids.insert(ids.end(), numbers, numbers + batch->valid_count);
    };
    take(reader.Next());
    std::this_thread::sleep_for(50ms);  // its threads wait for the fifth file
    EXPECT_THAT(MessageOf([&] { reader.Seek({0, 1}); }), HasSubstr("no whole number of steps"));
    stager.GoOn();
    while (const auto* batch = reader.Next()) take(batch);
  }
  stager.Finish();
  EXPECT_EQ(ids, ReadIds(plan.directory, options));
}

TEST_F(ArrivalsTest, AProducerThatDiesIsAnErrorThatNamesTheFileWithinSeconds) {
  const auto plan = Plan();
  const auto stuck = InChild([&] {
    Stage(plan, InOrder(plan, [](std::size_t n) {
            while (n == 2) ::pause();
          }));
    return true;
  });
  AwaitStart(plan);
  const auto supply = OpenSupply(plan.directory, 7);
  supply->Take(0, 1, {});
  ::kill(stuck, SIGKILL);
  ::waitpid(stuck, nullptr, 0);
  const auto begin = std::chrono::steady_clock::now();
  const auto third = fmt::format("part-{:03}.tfrecord", supply->Order(0)[2]);
  const auto message = MessageOf([&] { supply->Take(0, 2, {}); });
  EXPECT_THAT(message, HasSubstr("the staging has ended"));
  EXPECT_THAT(message, HasSubstr(third));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 30s);
  EXPECT_NO_THROW(supply->Take(0, 1, {})) << "what has arrived stays readable";
  EXPECT_EQ(RemoveLeftovers(root_).size(), 1U) << "and can be collected";
}

TEST_F(ArrivalsTest, AReaderOutlivesARunThatGivesUpWhenAnotherOneStagesTheSame) {
  const auto plan = Plan();
  std::atomic<bool> give_up = false, taken_over = false, go_on = false;
  std::thread first([&] {
    const auto options = InOrder(plan, [&](std::size_t n) {
      while (n == 3 && !give_up) std::this_thread::sleep_for(1ms);
      if (n == 3) throw Error(ErrorKind::kInterrupted, "given up");
    });
    EXPECT_THAT(MessageOf([&] { Stage(plan, options); }),
                testing::AllOf(HasSubstr("given up"), HasSubstr("are kept for the next run")));
  });
  AwaitStart(plan);
  const auto supply = OpenSupply(plan.directory, 7);
  supply->Take(0, 2, {});
  std::thread second([&] {
    Stage(plan, InOrder(plan, [&](std::size_t n) {
            taken_over = true;
            while (n == 1 && !go_on) std::this_thread::sleep_for(1ms);
          }));
  });
  give_up = true;
  first.join();
  while (!taken_over) std::this_thread::sleep_for(1ms);  // else nobody stages for a moment
  std::thread releaser([&] {
    std::this_thread::sleep_for(100ms);
    go_on = true;
  });
  for (const std::size_t place : {0, 2, 7}) {
    const auto size =
        OpenSupplied(*supply, 0, place, {}, [](const DatasetFile& file) { return ReadFile(file.path).size(); });
    EXPECT_EQ(size, supply->listing().files[supply->Order(0)[place]].bytes.count) << place;
  }
  second.join();
  releaser.join();
}

TEST_F(ArrivalsTest, AFailedStagingEndsTheReadersOfItsData) {
  const auto plan = Plan();
  FlipBit(source_ / fmt::format("part-{:03}.tfrecord", 7), 20 * 8);
  std::string failure;
  std::thread stager([&] {
    failure = MessageOf([&] { Stage(plan, InOrder(plan, [](std::size_t) { std::this_thread::sleep_for(20ms); })); });
  });
  AwaitStart(plan);
  EXPECT_THAT(MessageOf([&] { ReadIds(plan.directory, NumberedOptions(0, 1, 1)); }), HasSubstr("has not arrived"));
  stager.join();
  EXPECT_THAT(failure, HasSubstr("part-007.tfrecord"));
}

TEST_F(ArrivalsTest, AWaitCanBeEndedByTheReaderThatIsClosed) {
  const auto plan = Plan();
  PausedStager stager(plan, 4);
  {
    auto reader = BatchReader::Open(plan.directory, NumberedOptions(0, 1, 1));
    EXPECT_NE(reader.Next(), nullptr);
  }  // its threads wait for the fifth file
  stager.Finish();
}

TEST_F(ArrivalsTest, AProgramThatWantsAllOfItWaitsForThePublishing) {
  const auto plan = Plan();
  std::thread stager([&] { Stage(plan, InOrder(plan, [](std::size_t) { std::this_thread::sleep_for(10ms); })); });
  AwaitStart(plan);
  AwaitPublished(plan.directory);
  EXPECT_EQ(BatchReader::Open(plan.directory, NumberedOptions(0, 1, 1)).record_count(), 57U);
  stager.join();
  AwaitPublished(root_ / "never");  // nobody stages it
  EXPECT_THAT(MessageOf([&] { ReadIds(root_ / "never", NumberedOptions(0, 1, 1)); }), HasSubstr("never"));
}

TEST_F(ArrivalsTest, WithoutCountsBatchesBeginWhenAllIsThere) {
  fs::remove(source_ / "manifest.json");
  const auto plan = Plan();
  std::thread stager([&] { Stage(plan, InOrder(plan, [](std::size_t) { std::this_thread::sleep_for(10ms); })); });
  AwaitStart(plan);
  EXPECT_EQ(ReadIds(plan.directory, NumberedOptions(0, 1, 1)).size(), 56U);
  stager.join();
}

TEST_F(ArrivalsTest, Hdf5ArrivesFileByFile) {
  std::int64_t id = 0;
  for (const int rows : {4, 6, 2, 8}) {
    fs::create_directories(files_ / "h5");
    const auto file = CreateHdf5(files_ / fmt::format("h5/part-{}.h5", id));
    std::vector<std::int64_t> ids(static_cast<std::size_t>(rows));
    for (auto& value : ids) value = id++;
    WriteDataset(*file, {"id", NumberType::kInt64, {ids.size()}}, std::as_bytes(std::span(ids)));
    file->Close();
  }
  auto plan = PlanFor(RequestFor(files_ / "h5", root_, DataFormat::kHdf5));
  CountRecords(plan, CountWhen::kCheap, {});
  std::thread stager([&] { Stage(plan, InOrder(plan, [](std::size_t) { std::this_thread::sleep_for(20ms); })); });
  AwaitStart(plan);
  const auto early = ReadIds(plan.directory, NumberedOptions(0, 1, 1));
  stager.join();
  EXPECT_EQ(early.size(), 20U);
  EXPECT_EQ(early, ReadIds(plan.directory, NumberedOptions(0, 1, 1)));
}

TEST_F(ArrivalsTest, RanksHearWhenTheyOpenThatArrivingHdf5HasNoWholeRecords) {
  fs::create_directories(files_ / "h5");
  const std::vector<std::int64_t> ids = {1, 2, 3, 4};
  const auto file = CreateHdf5(files_ / "h5/a.h5");
  WriteDataset(*file, {"id", NumberType::kInt64, {4}}, std::as_bytes(std::span(ids)));
  file->Close();
  auto plan = PlanFor(RequestFor(files_ / "h5", root_, DataFormat::kHdf5));
  CountRecords(plan, CountWhen::kCheap, {});
  plan.layout = Layout::kStream;
  plan.window = Bytes{1 << 20};
  StreamStager stager(plan, 7, 1);
  std::atomic<bool> cancelled = false;
  StageOptions options;
  options.cancelled = [&] { return cancelled.load(); };
  std::thread running([&] { MessageOf([&] { stager.Run(options); }); });
  auto wanted = NumberedOptions(0, 1, 1);
  wanted.payloads = true;
  EXPECT_THAT(MessageOf([&] { BatchReader::Open(stager.directory(), wanted); }), HasSubstr("read field by field"));
  cancelled = true;
  running.join();
}

}  // namespace
}  // namespace slipway::staging
