// Streams: a stager on a thread or in a process of its own, readers of several ranks, real files.

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <latch>
#include <map>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "staging/dataset/stream_state.h"
#include "staging/formats/example.h"
#include "staging/formats/tfrecord.h"
#include "staging/generation/generation.h"
#include "staging/generation/stage.h"
#include "staging/plan/tiers.h"
#include "staging/reader/file_supply.h"
#include "staging/reader/sharding.h"
#include "staging/stream/count_records.h"
#include "staging/stream/stream_stager.h"
#include "tests/staging/reader/supply_support.h"
#include "tests/staging/staging_support.h"

namespace slipway::staging {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;

const std::vector<int> kStreamedFiles = {5, 8, 9, 3, 12, 1, 7, 10};

class StreamTest : public testing::Test {
 protected:
  void SetUp() override { MakeNumberedFiles(source_, kStreamedFiles, 1000); }

  StagingPlan Plan() const {
    auto plan = PlanFor(RequestFor(source_, root_, DataFormat::kTfrecord));
    plan.layout = Layout::kStream;
    plan.window = Bytes{26'000};  // the two largest; all are 57 KB
    CountRecords(plan, CountWhen::kAlways, {});
    return plan;
  }

  /// What lies in the stream's directory at one time. 0 when something came or went meanwhile: such a walk counts a
  /// file that goes and the one that takes its room.
  static std::uint64_t BytesIn(const StreamStager& stager) {
    const auto before = stager.figures();
    std::map<fs::path, std::uint64_t> sizes;  // one that moves to its place is met twice
    std::error_code gone;
    for (fs::recursive_directory_iterator entry(stager.directory(), gone), end; !gone && entry != end;
         entry.increment(gone)) {
      if (entry->path().extension() != ".tfrecord") continue;
      const auto size = entry->file_size(gone);
      if (!gone) sizes[entry->path().filename()] = size;
    }
    const auto after = stager.figures();
    if (before.copies != after.copies || before.evictions != after.evictions) return 0;
    std::uint64_t bytes = 0;
    for (const auto& [name, size] : sizes) bytes += size;
    return bytes;
  }

  TemporaryDirectory files_;
  fs::path source_ = files_ / "source";
  fs::path root_ = files_ / "tier";
};

/// Runs until the end of its scope.
class Running {
 public:
  explicit Running(StreamStager& stager)
      : thread_([this, &stager] {
          StageOptions options;
          options.cancelled = [this] { return cancelled_.load(); };
          message_ = MessageOf([&] { stager.Run(options); });
        }) {}
  ~Running() { Stop(); }
  std::string Stop() {
    cancelled_ = true;
    if (thread_.joinable()) thread_.join();
    return message_;
  }

 private:
  std::atomic<bool> cancelled_ = false;
  std::string message_;
  std::thread thread_;
};

TEST_F(StreamTest, RanksOfDifferentSpeedsReadWhatTheyWouldReadOfAllFiles) {
  const auto plan = Plan();
  Stage(PlanFor(RequestFor(source_, files_ / "whole", DataFormat::kTfrecord)));
  const auto whole = files_ / "whole" / GenerationsIn(files_ / "whole").at(0);
  {
    StreamStager stager(plan, 7, 4);
    Running running(stager);
    std::atomic<bool> done = false;
    std::uint64_t most = 0;
    std::thread watch([&] {
      for (; !done; std::this_thread::sleep_for(100us)) most = std::max(most, BytesIn(stager));
    });
    std::vector<std::vector<std::int64_t>> ids(2);
    std::vector<std::thread> ranks;
    std::latch both_have_begun(2);  // who begins later has all files brought again
    for (int rank = 0; rank < 2; ++rank) {
      ranks.emplace_back([&, rank] {
        const auto on_batch = [&, first = true]() mutable {
          if (std::exchange(first, false)) both_have_begun.arrive_and_wait();
          std::this_thread::sleep_for(rank * 2ms);
        };
        ids[static_cast<std::size_t>(rank)] = ReadIds(stager.directory(), NumberedOptions(rank, 2, 3), on_batch);
      });
    }
    for (auto& rank : ranks) rank.join();
    const auto copies = stager.figures().copies;
    done = true;
    watch.join();
    for (int rank = 0; rank < 2; ++rank) {
      EXPECT_EQ(ids[static_cast<std::size_t>(rank)], ReadIds(whole, NumberedOptions(rank, 2, 3)));
    }
    EXPECT_LE(most, plan.window.count);
    EXPECT_GT(most, 0U);
    EXPECT_GT(stager.figures().evictions, 0U);
    EXPECT_LT(copies, 4 * kStreamedFiles.size());
    EXPECT_THAT(running.Stop(), HasSubstr("cancelled"));
  }
  EXPECT_THAT(NamesOf(root_ / ".staging"), IsEmpty());
  EXPECT_THAT(GenerationsIn(root_), IsEmpty()) << "nothing is published";
}

TEST_F(StreamTest, WithVerifyFullEachCopyIsReadAgainAndReadersGetTheSame) {
  auto plan = Plan();
  Stage(PlanFor(RequestFor(source_, files_ / "whole", DataFormat::kTfrecord)));
  const auto whole = files_ / "whole" / GenerationsIn(files_ / "whole").at(0);
  plan.request.verify = VerifyMode::kFull;
  StreamStager stager(plan, 7, 4);
  Running running(stager);
  EXPECT_EQ(ReadIds(stager.directory(), NumberedOptions(0, 1, 3)), ReadIds(whole, NumberedOptions(0, 1, 3)));
  EXPECT_GT(stager.figures().evictions, 0U);
  EXPECT_THAT(stager.unread(), IsEmpty());
}

/// As in training: nobody takes the next batch before all have this one.
TEST_F(StreamTest, RanksThatWaitForEachOtherGetOnInASmallWindow) {
  const auto plan = Plan();
  Stage(PlanFor(RequestFor(source_, files_ / "whole", DataFormat::kTfrecord)));
  const auto whole = files_ / "whole" / GenerationsIn(files_ / "whole").at(0);
  constexpr int kRanks = 4;
  const auto options_of = [](int rank) {
    auto options = NumberedOptions(rank, kRanks, 2);
    options.batch = 1;
    options.window = 30;
    options.prefetch = 1;
    return options;
  };
  StreamStager stager(plan, 7, kRanks);
  Running running(stager);
  std::barrier step(kRanks);
  std::vector<std::vector<std::int64_t>> ids(kRanks);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < kRanks; ++rank) {
    ranks.emplace_back([&, rank] {
      ids[static_cast<std::size_t>(rank)] =
          ReadIds(stager.directory(), options_of(rank), [&] { step.arrive_and_wait(); });
    });
  }
  for (auto& rank : ranks) rank.join();
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(ids[static_cast<std::size_t>(rank)], ReadIds(whole, options_of(rank)));
  }
}

TEST_F(StreamTest, AReaderMayBeginAgainEarlierOrInALaterEpoch) {
  const auto plan = Plan();
  StreamStager stager(plan, 7, 4);
  Running running(stager);
  auto options = NumberedOptions(0, 1, 2);
  const auto all = ReadIds(stager.directory(), options);
  options.position = {1, 20};
  const auto rest = ReadIds(stager.directory(), options);
  EXPECT_EQ(rest, std::vector<std::int64_t>(all.end() - static_cast<std::ptrdiff_t>(rest.size()), all.end()));
  auto reader = BatchReader::Open(stager.directory(), options);
  ASSERT_NE(reader.Next(), nullptr);
  reader.Seek({0, 0});
  const auto* batch = reader.Next();
  ASSERT_NE(batch, nullptr);
  EXPECT_EQ(*reinterpret_cast<const std::int64_t*>(batch->fields[0].values.data()), all[0]);
}

/// The last two records of the last file are no Examples with an `id`, and what came before them has been handed out.
TEST_F(StreamTest, DamageAtTheEndOfAnEpochIsReplacedByTheLastRecordThatIsGood) {
  MakeNumberedFiles(source_, std::vector<int>(8, 4), 1000);
  for (const auto epoch : {0, 1}) {
    const auto last =
        source_ / fmt::format("part-{:03}.tfrecord", FileOrder(8, 7, static_cast<std::uint64_t>(epoch))[7]);
    const TfrecordFile whole(last);
    TfrecordWriter writer(files_ / "damaged");
    for (const std::uint64_t record : {0, 1}) writer.Write(whole.Record(record));
    for (int i = 0; i < 2; ++i) writer.Write(ExampleBuilder().AddInt("other", 1).Finish());
    writer.Close();
    fs::rename(files_ / "damaged", last);
  }
  auto plan = Plan();
  plan.window = Bytes{9'000};
  Stage(PlanFor(RequestFor(source_, files_ / "whole", DataFormat::kTfrecord)));
  const auto whole = files_ / "whole" / GenerationsIn(files_ / "whole").at(0);
  auto options = NumberedOptions(0, 1, 3);
  options.batch = 1;
  options.window = 1;
  options.prefetch = 1;
  options.threads = 1;
  options.on_corrupt = OnCorrupt::kSkip;
  StreamStager stager(plan, 7, 1);
  Running running(stager);
  const auto ids = ReadIds(stager.directory(), options, [] { std::this_thread::sleep_for(1ms); });
  EXPECT_EQ(ids.size(), 3U * 32);
  EXPECT_EQ(ids[30], ids[29]);
  EXPECT_EQ(ids[31], ids[29]);
  EXPECT_EQ(ids, ReadIds(whole, options));
}

TEST_F(StreamTest, ARankThatDiesIsNotWaitedForForEver) {
  const auto plan = Plan();
  StreamStager stager(plan, 7, 4);
  Running running(stager);
  const auto child = InChild([&] {
    const auto supply = OpenSupply(stager.directory(), 7);
    supply->Take(0, 0, {});
    while (true) ::pause();
    return true;
  });
  while (StreamState::Open(stager.directory()).Readers().empty()) std::this_thread::sleep_for(1ms);
  std::thread killer([&] {
    std::this_thread::sleep_for(200ms);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  });
  EXPECT_EQ(ReadIds(stager.directory(), NumberedOptions(0, 1, 1)).size(), 54U);
  killer.join();
}

TEST_F(StreamTest, ASourceThatChangesBehindItsTimesIsNamed) {
  const auto plan = Plan();
  StreamStager stager(plan, 7, 4);
  Running running(stager);
  auto reader = OpenSupply(stager.directory(), 7);
  reader->Take(0, 0, {});
  const auto number = reader->Order(0)[0];
  const auto first = plan.files[number].path;
  // Another valid file of the same size, with the same times: only the sums tell.
  const auto time = fs::last_write_time(first);
  {
    auto content = ReadFile(first);
    TfrecordWriter writer(files_ / "other.tfrecord");
    const TfrecordFile present(first);
    for (auto i = present.record_count(); i > 0; --i) writer.Write(present.Record(i - 1));
    writer.Close();
    const auto turned = ReadFile(files_ / "other.tfrecord");
    ASSERT_EQ(turned.size(), content.size());
    ASSERT_NE(turned, content);
    const auto fd = OpenFile(first, O_WRONLY);
    WriteAll(fd.get(), turned, first);
  }
  fs::last_write_time(first, time);
  const auto message = MessageOf([&] {
    for (std::uint64_t epoch = 0; epoch < 6; ++epoch) {
      for (std::size_t place = 0; place < kStreamedFiles.size(); ++place) {
        reader->Pass(epoch, place);
        reader->Take(epoch, place, {});
      }
    }
  });
  EXPECT_THAT(message, HasSubstr("the stream has ended"));
  EXPECT_THAT(message, HasSubstr(first.filename().string()));
  EXPECT_THAT(running.Stop(), HasSubstr("is not what it was when it was copied first"));
}

TEST_F(StreamTest, AKilledStagerLeavesNothingThatCannotBeCollectedAndItsReadersHearOfIt) {
  const auto plan = Plan();
  const auto child = InChild([&] {
    StreamStager stager(plan, 7, 4);
    stager.Run({});
    return true;
  });
  const auto directory = root_ / ".staging" / (plan.generation + ".stream-0");
  while (!fs::exists(directory / kStreamStateName)) std::this_thread::sleep_for(1ms);
  const auto supply = OpenSupply(directory, 7);
  supply->Take(0, 0, {});
  EXPECT_THAT(RemoveLeftovers(root_), IsEmpty()) << "it is at work";
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_THAT(MessageOf([&] { supply->Take(0, 7, {}); }), HasSubstr("the stream has ended"));
  Stage(PlanFor(RequestFor(source_, root_, DataFormat::kTfrecord)));
  EXPECT_THAT(NamesOf(root_ / ".staging"), IsEmpty()) << "whoever stages there next, collects it at once";
}

TEST_F(StreamTest, TwoRunsHaveAStreamEach) {
  const auto plan = Plan();
  StreamStager one(plan, 7, 1), other(plan, 8, 1);
  EXPECT_NE(one.directory(), other.directory());
}

TEST_F(StreamTest, AReaderThatIsToldToStopWaitingWantsNothingAnyMore) {
  StreamStager stager(Plan(), 7, 1);  // brings nothing
  const auto reader = OpenSupply(stager.directory(), 7);
  const auto readers = [&] { return StreamState::Open(stager.directory()).Readers(); };
  std::vector<StreamReader> meanwhile;
  SupplyWait wait;
  wait.tick = [&] {
    meanwhile = readers();
    throw Error(ErrorKind::kInterrupted, "closed");
  };
  reader->Pass(0, 2);
  EXPECT_EQ(MessageOf([&] { reader->Take(0, 3, wait); }), "closed");
  EXPECT_THAT(meanwhile, testing::ElementsAre(StreamReader{2, 3}));
  EXPECT_THAT(readers(), testing::ElementsAre(StreamReader{2}));
}

TEST_F(StreamTest, RefusesWhatCannotBe) {
  const auto plan = Plan();
  StreamStager stager(plan, 7, 1);
  Running running(stager);
  EXPECT_THAT(MessageOf([&] { OpenSupply(stager.directory(), 8); }), HasSubstr("order of seed 7"));
  auto global = NumberedOptions(0, 1, 1);
  global.order = RecordOrder::kGlobal;
  EXPECT_THAT(MessageOf([&] { ReadIds(stager.directory(), global); }),
              testing::AllOf(HasSubstr("is a stream"), HasSubstr("\"windowed\"")));
  const auto first = OpenSupply(stager.directory(), 7);
  EXPECT_THAT(MessageOf([&] { OpenSupply(stager.directory(), 7); }), HasSubstr("has 1 readers already"));
}

TEST(StreamStateTest, TornAndHostileStatesAreBounded) {
  TemporaryDirectory files;
  {
    auto state = StreamState::Create(files.path(), {3, 2, 7});
    const auto slot = state.TakeSlot();
    ASSERT_TRUE(slot);
    auto reader = StreamState::Open(files.path());
    reader.SetReader(*slot, {kMostUses});
    EXPECT_THAT(reader.Readers(), IsEmpty()) << "no such use";
    reader.SetReader(*slot, {5});
    EXPECT_THAT(reader.Readers(), testing::ElementsAre(StreamReader{5}));
    reader.SetWants(*slot, 7);
    EXPECT_THAT(reader.Readers(), testing::ElementsAre(StreamReader{5, 7}));
    reader.SetWants(*slot, {});
    EXPECT_THAT(reader.Readers(), testing::ElementsAre(StreamReader{5}));
    reader.SetWants(*slot, kMostUses);
    EXPECT_THAT(reader.Readers(), IsEmpty()) << "no such use";
    EXPECT_EQ(fs::status(files / kStreamStateName).permissions(), fs::perms(0600));
  }
  EXPECT_THAT(StreamState::Open(files.path()).Readers(), IsEmpty()) << "the slot's owner is gone";
  const auto good = ReadFile(files / kStreamStateName);
  for (std::size_t size = 0; size < good.size(); size += 7) {
    WriteFile(files / kStreamStateName, good.substr(0, size));
    EXPECT_THROW(StreamState::Open(files.path()), Error) << size;
  }
  for (std::size_t byte = 0; byte < 32; ++byte) {
    auto bad = good;
    bad[byte] = '\xff';
    WriteFile(files / kStreamStateName, bad);
    EXPECT_THROW(StreamState::Open(files.path()), Error) << byte;
  }
}

}  // namespace
}  // namespace slipway::staging
