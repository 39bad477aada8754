#include "staging/generation/stage.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"
#include "staging/copy/copy_pool.h"
#include "staging/dataset/dataset_files.h"
#include "staging/dataset/manifest.h"
#include "staging/dataset/record_index.h"
#include "staging/plan/tiers.h"
#include "tests/staging/formats_support.h"
#include "tests/staging/kernel_faults.h"
#include "tests/staging/staging_support.h"
#include "tests/staging/tar_support.h"

namespace slipway::staging {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::size_t kRecord = 10'000;

class StageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Put(source_ / "a.tfrecord", TfrecordBytes(100, kRecord));
    Put(source_ / "b.tfrecord", TfrecordBytes(3, kRecord));
  }
  void TearDown() override { ::umount2(root_.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW); }  // where a test mounted it
  DatasetRequest Request(DataFormat format = DataFormat::kTfrecord) const { return RequestFor(source_, root_, format); }
  StagingPlan Plan() const { return PlanFor(Request()); }
  StagingPlan PlanInPlace(VerifyMode verify = VerifyMode::kFormat) const {
    auto request = Request();
    request.tiers = {"none"};
    request.verify = verify;
    return PlanFor(request);
  }
  StagingPlan PlanAsIfThereWereRoom() const {
    auto request = Request();
    request.tiers = {"ram"};
    return PlanStaging(request, ListSources(request), {{"ram", root_, Bytes{1u << 30}, 1000, true, {}, {}}});
  }
  static Manifest ManifestOf(const StagedDataset& staged) { return ParseManifest(ReadFile(staged.manifest)); }
  /// Only the directories for work in progress and locks may be there, and nothing may be in progress.
  void ExpectNothingPublished() const {
    EXPECT_THAT(NamesOf(root_ / ".staging"), IsEmpty());
    EXPECT_THAT(GenerationsIn(root_), IsEmpty());
  }
  std::string Refusal(const StagingPlan& plan, const StageOptions& options = {}) const {
    const auto text = MessageOf([&] { Stage(plan, options); });
    ExpectNothingPublished();
    return text;
  }

  TemporaryDirectory files_;
  fs::path source_ = files_ / "source";
  fs::path root_ = files_ / "tier";
};

TEST_F(StageTest, CopiesChecksAndPublishes) {
  const auto staged = Stage(Plan());
  EXPECT_FALSE(staged.adopted);
  EXPECT_EQ(ReadFile(staged.directory / "a.tfrecord"), ReadFile(source_ / "a.tfrecord"));
  EXPECT_THAT(NamesOf(staged.directory), ElementsAre("a.tfrecord", "b.tfrecord", "manifest.json", "records.index"));
  const auto manifest = ManifestOf(staged);
  EXPECT_EQ(manifest.TotalRecords(), 103u);
  EXPECT_EQ(manifest.TotalBytes(), staged.copied);
  EXPECT_EQ(manifest.files[0].crc32c.size(), 1u);
  const auto index = ReadFile(staged.directory / manifest.index.value().path);
  EXPECT_EQ(Crc32c(index), manifest.index->crc32c);
  const auto records = DecodeRecordIndices(index);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[1].offsets, (std::vector<std::uint64_t>{0, kRecord + 16, 2 * (kRecord + 16)}));
  EXPECT_EQ(records[1].end, manifest.files[1].bytes.count);
  EXPECT_THAT(NamesOf(root_ / ".staging"), IsEmpty());
}

TEST_F(StageTest, TheIndexOfTarShardsSaysWhereSamplesBegin) {
  const auto tars = files_ / "tars";
  const auto shard = TarText({{"1.txt", "one"}, {"2.txt", "two"}});
  Put(tars / "a.tar", shard);
  Put(tars / "b.tar", TarText({{"3.txt", "three"}}));
  const auto staged = Stage(PlanFor(RequestFor(tars, root_, DataFormat::kWebdataset)));
  const auto index = DecodeRecordIndices(ReadFile(staged.directory / ManifestOf(staged).index.value().path));
  EXPECT_THAT(index, ElementsAre(RecordIndex{{0, 1024}, 2048}, RecordIndex{{0}, 1024}));
  const auto dataset = FindDatasetFiles(staged.directory);
  EXPECT_EQ(dataset.files.at(0).index, index[0]);
}

TEST_F(StageTest, TheIndexOfACompressedFileIsOfWhatItInflatesTo) {
  const auto records = TfrecordBytes(3, kRecord);
  Put(source_ / "b.tfrecord", Deflate(Compression::kGzip, records));
  const auto staged = Stage(Plan());
  const auto index = DecodeRecordIndices(ReadFile(staged.directory / ManifestOf(staged).index.value().path));
  EXPECT_EQ(index.at(1).offsets.size(), 3u);
  EXPECT_EQ(index.at(1).end, records.size());
}

TEST_F(StageTest, NobodyElseCanRead) {
  const auto staged = Stage(Plan());
  struct stat info {};
  ASSERT_EQ(::stat((staged.directory / "a.tfrecord").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0137, 0u);
  ASSERT_EQ(::stat(root_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

TEST_F(StageTest, RecordsOneCrcForEachFourMebibytes) {
  Put(source_ / "big", std::string(2 * (4u << 20) + 1, 'x'));
  const auto staged = Stage(PlanFor(RequestFor(source_ / "big", root_, DataFormat::kRaw)));
  const auto manifest = ManifestOf(staged);
  ASSERT_EQ(manifest.files[0].crc32c.size(), 3u);
  EXPECT_EQ(manifest.files[0].crc32c[0], manifest.files[0].crc32c[1]);
  EXPECT_EQ(manifest.TotalRecords(), std::nullopt);
}

TEST_F(StageTest, ASecondRunAdoptsAndCopiesNothing) {
  Stage(Plan());
  int blocks = 0;
  const auto plan = Plan();
  EXPECT_EQ(plan.reason, "already staged there");
  const auto second = Stage(plan, {[&](const StageProgress&) { ++blocks; }, {}});
  EXPECT_TRUE(second.adopted);
  EXPECT_EQ(second.copied, Bytes{0});
  EXPECT_EQ(blocks, 0);
}

TEST_F(StageTest, AChangedSourceIsAnotherGeneration) {
  const auto first = Stage(Plan());
  Put(source_ / "b.tfrecord", TfrecordBytes(4, kRecord));
  const auto second = Stage(Plan());
  EXPECT_FALSE(second.adopted);
  EXPECT_NE(first.directory, second.directory);
  EXPECT_EQ(ManifestOf(second).TotalRecords(), 104u);
}

TEST_F(StageTest, StagesAgainWhatWasDamagedInTheTier) {
  const auto directory = Stage(Plan()).directory;
  fs::resize_file(directory / "a.tfrecord", 5);
  EXPECT_FALSE(Stage(Plan()).adopted);
  WriteFile(directory / "manifest.json", "{\"schema\": 1");
  EXPECT_FALSE(Stage(Plan()).adopted);
  EXPECT_EQ(ReadFile(directory / "a.tfrecord"), ReadFile(source_ / "a.tfrecord"));
}

TEST_F(StageTest, WhatWasDamagedIsKeptAsBefore) {
  const auto directory = Stage(Plan()).directory;
  MarkKept(root_, directory.filename());
  fs::resize_file(directory / "a.tfrecord", 5);
  EXPECT_FALSE(Stage(Plan()).adopted);
  EXPECT_TRUE(IsKept(root_, directory.filename()));
}

TEST_F(StageTest, LeavesADamagedCopyAloneWhileItIsInUse) {
  const auto first = Stage(Plan());
  fs::resize_file(first.directory / "a.tfrecord", 5);
  EXPECT_THAT(MessageOf([&] { Stage(Plan()); }), HasSubstr("is damaged, and another run uses it"));
}

TEST_F(StageTest, ALeaseKeepsTheGeneration) {
  auto staged = Stage(Plan());
  const auto name = staged.directory.filename().string();
  EXPECT_EQ(RemoveGeneration(root_, name), Removal::kInUse);
  staged.lease.reset();
  EXPECT_EQ(RemoveGeneration(root_, name), Removal::kRemoved);
  ExpectNothingPublished();
}

TEST_F(StageTest, RefusesAFlippedBit) {
  FlipBit(source_ / "a.tfrecord", 5 * (kRecord + 16) + 500);
  EXPECT_THAT(Refusal(Plan()), AllOf(HasSubstr("a.tfrecord"), HasSubstr("record 5")));
}

TEST_F(StageTest, RefusesATruncatedFile) {
  fs::resize_file(source_ / "b.tfrecord", 2 * kRecord);
  EXPECT_THAT(Refusal(Plan()), HasSubstr("b.tfrecord"));
}

TEST_F(StageTest, CopiesAFlippedBitWhenToldNotToLook) {
  FlipBit(source_ / "a.tfrecord", 500);
  auto request = Request();
  request.verify = VerifyMode::kOff;
  EXPECT_FALSE(Stage(PlanFor(request)).adopted);
}

TEST_F(StageTest, ReadsTheCopyAgainInFullMode) {
  auto request = Request();
  request.verify = VerifyMode::kFull;
  const auto plan = PlanFor(request);
  bool broken = false;
  const auto damage = [&](const StageProgress& progress) {
    if (broken || progress.current != "a.tfrecord") return;
    FlipBit(root_ / ".staging" / plan.generation / "a.tfrecord", 100);
    broken = true;
  };
  EXPECT_THAT(Refusal(plan, {damage, {}}), HasSubstr("differs from what was written"));
}

TEST_F(StageTest, RefusesASourceThatChangesMeanwhile) {
  const auto append = [&](const StageProgress& progress) {
    if (progress.current != "a.tfrecord") return;
    const auto fd = OpenFile(source_ / "a.tfrecord", O_WRONLY | O_APPEND);
    WriteAll(fd.get(), "more", "source");
  };
  EXPECT_THAT(Refusal(Plan(), {append, {}}), AllOf(HasSubstr("a.tfrecord"), HasSubstr("changed while it was being")));
}

TEST_F(StageTest, RefusesASourceThatIsCutMeanwhile) {
  const auto cut = [&](const StageProgress& progress) {
    if (progress.current == "a.tfrecord") fs::resize_file(source_ / "a.tfrecord", 10);
  };
  EXPECT_THAT(Refusal(Plan(), {cut, {}}), HasSubstr("changed while it was being"));
}

TEST_F(StageTest, RefusesASourceThatIsReplacedMeanwhile) {
  bool replaced = false;
  const auto replace = [&](const StageProgress& progress) {
    if (replaced || progress.current != "a.tfrecord") return;
    Put(source_ / "new", TfrecordBytes(100, kRecord));
    fs::rename(source_ / "new", source_ / "a.tfrecord");
    replaced = true;
  };
  EXPECT_THAT(Refusal(Plan(), {replace, {}}), HasSubstr("changed while it was being"));
}

TEST_F(StageTest, RefusesASourceThatIsDeletedMeanwhile) {
  const auto remove = [&](const StageProgress& progress) {
    if (progress.current == "a.tfrecord") fs::remove(source_ / "a.tfrecord");
  };
  EXPECT_THAT(Refusal(Plan(), {remove, {}}), AllOf(HasSubstr("a.tfrecord"), HasSubstr("No such file")));
}

TEST_F(StageTest, RefusesAFifoInTheFilesPlace) {
  const auto plan = Plan();
  fs::remove(source_ / "a.tfrecord");
  ASSERT_EQ(::mkfifo((source_ / "a.tfrecord").c_str(), 0644), 0);
  EXPECT_THAT(Refusal(plan), AllOf(HasSubstr("a.tfrecord"), HasSubstr("changed while it was being")));
}

TEST_F(StageTest, NamesAFileThatCannotBeReadAnyMore) {
  const auto plan = Plan();
  fs::permissions(files_.path(), fs::perms(01777));  // the tier's root is made by the ordinary user
  fs::permissions(source_ / "b.tfrecord", fs::perms::none);
  EXPECT_TRUE(AsOrdinaryUser([&] {
    const auto text = MessageOf([&] { Stage(plan); });
    return text.find("b.tfrecord") != text.npos && text.find("Permission denied") != text.npos &&
           GenerationsIn(root_).empty() && NamesOf(root_ / ".staging").empty();
  }));
}

TEST_F(StageTest, StagesThroughAnotherCopier) {
  StageOptions options;
  options.copier = [](const StagingPlan& plan, const fs::path& directory, const CopyOptions& copy,
                      const StageOptions& stage) {
    EXPECT_TRUE(fs::is_directory(directory / "d"));
    EXPECT_NE(copy.arrivals, nullptr);
    return CopyAll(plan, directory, copy, stage);
  };
  Put(source_ / "d/c.tfrecord", TfrecordBytes(1, kRecord));
  EXPECT_EQ(ManifestOf(Stage(Plan(), options)).TotalRecords(), 104u);
}

TEST_F(StageTest, ReadsAFileOnceMoreWhenItWasRewrittenWithItsTimesSetBack) {
  bool flipped = false;
  Bytes last;
  const auto flip = [&](const StageProgress& progress) {
    last = progress.done;
    if (flipped || progress.current != "a.tfrecord") return;
    FlipBit(source_ / "a.tfrecord", 0);  // in the block that has been read already
    flipped = true;
  };
  const auto staged = Stage(PlanFor(RequestFor(source_, root_, DataFormat::kRaw)), {flip, {}});
  EXPECT_EQ(ReadFile(staged.directory / "a.tfrecord"), ReadFile(source_ / "a.tfrecord"));
  EXPECT_EQ(last, staged.copied) << "progress must not count the first attempt";
}

TEST_F(StageTest, NeverPublishesAFileThatChangedWithinOneTickOfTheClock) {
  for (int attempt = 0; attempt < 10; ++attempt) {
    Put(source_ / "raw", std::string(2'000'000, 'x'));
    bool flipped = false;
    const auto flip = [&](const StageProgress& progress) {
      if (flipped || progress.done.count == 0) return;
      FlipBit(source_ / "raw", 0);  // in what has been read already, a moment after the file was made
      flipped = true;
    };
    const auto staged = Stage(PlanFor(RequestFor(source_ / "raw", root_, DataFormat::kRaw)), {flip, {}});
    ASSERT_TRUE(flipped);
    ASSERT_TRUE(ReadFile(staged.directory / "raw") == ReadFile(source_ / "raw")) << "in attempt " << attempt;
  }
}

TEST_F(StageTest, SyncsEachFileOnANetworkFileSystem) {
  test::PretendNetwork(root_);
  const int before = test::CountOfSyncedFiles();
  Stage(Plan());
  const int on_network = test::CountOfSyncedFiles() - before;
  test::PretendNetwork({});
  fs::remove_all(root_);
  Stage(Plan());
  EXPECT_EQ(on_network - (test::CountOfSyncedFiles() - before - on_network), 2);
}

TEST_F(StageTest, RefusesAPlanThatIsOutOfDate) {
  const auto plan = Plan();
  Put(source_ / "a.tfrecord", TfrecordBytes(1, kRecord));
  EXPECT_THAT(Refusal(plan), HasSubstr("changed while it was being staged"));
}

TEST_F(StageTest, ACancelInTheMiddlePublishesNothing) {
  Bytes done;
  StageOptions options{[&](const StageProgress& progress) { done = progress.done; },
                       [&] { return done.count > 300'000; }};
  options.files_at_once = 1;  // the small file would be whole, and be kept
  try {
    Stage(Plan(), options);
    FAIL() << "was not cancelled";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInterrupted);
  }
  ExpectNothingPublished();
}

TEST_F(StageTest, KeepsOddNames) {
  Put(source_ / "d/new\nline", "1");
  Put(source_ / "d/\xff", "2");
  const auto request = RequestFor(source_, root_, DataFormat::kRaw);
  const auto staged = Stage(PlanFor(request));
  EXPECT_EQ(ReadFile(staged.directory / "d/new\nline"), "1");
  EXPECT_EQ(ReadFile(staged.directory / "d/%FF"), "2");
  EXPECT_TRUE(Stage(PlanFor(request)).adopted);
}

TEST_F(StageTest, StagesAnEmptyFile) {
  Put(source_ / "empty", "");
  const auto staged = Stage(PlanFor(RequestFor(source_ / "empty", root_, DataFormat::kRaw)));
  EXPECT_EQ(fs::file_size(staged.directory / "empty"), 0u);
}

TEST_F(StageTest, TierNoneChecksAndLinks) {
  const StageOptions options{{}, {}, root_};
  const auto staged = Stage(PlanInPlace(), options);
  EXPECT_EQ(staged.copied, Bytes{0});
  EXPECT_EQ(fs::read_symlink(staged.directory / "a.tfrecord"), source_ / "a.tfrecord");
  EXPECT_EQ(ManifestOf(staged).TotalRecords(), 103u);
  EXPECT_TRUE(Stage(PlanInPlace(), options).adopted);
}

TEST_F(StageTest, TierNoneRefusesADamagedFileToo) {
  FlipBit(source_ / "a.tfrecord", 500);
  EXPECT_THAT(Refusal(PlanInPlace(), {{}, {}, root_}), HasSubstr("a.tfrecord"));
}

TEST_F(StageTest, TierNoneDoesNotReadWhenToldNotToLook) {
  FlipBit(source_ / "a.tfrecord", 500);
  const auto staged = Stage(PlanInPlace(VerifyMode::kOff), {{}, {}, root_});
  EXPECT_THAT(ManifestOf(staged).files[0].crc32c, IsEmpty());
}

TEST_F(StageTest, RefusesARootThatBecameUnsafeAfterThePlan) {
  const auto plan = Plan();
  fs::create_directory(root_);
  fs::permissions(root_, fs::perms::all);
  EXPECT_THAT(MessageOf([&] { Stage(plan); }), HasSubstr("can be written by others"));
}

TEST_F(StageTest, SaysWhatAFullTierLacks) {
  if (!MountSmallDisk(root_, "size=1m,mode=0700")) GTEST_SKIP() << "cannot mount a tmpfs here";
  EXPECT_THAT(MessageOf([&] { Plan(); }), HasSubstr("needs 1.1"));  // with a margin
  const auto plan = PlanAsIfThereWereRoom();
  EXPECT_THAT(Refusal(plan), AllOf(HasSubstr("tier 'ram'"), HasSubstr("is full: dataset 'train' needs 1.0"),
                                   HasSubstr("is available"), HasSubstr("data.train.tier")));
}

TEST_F(StageTest, SaysWhatATierFilledMeanwhileLacks) {
  if (!MountSmallDisk(root_, "size=3m,mode=0700")) GTEST_SKIP() << "cannot mount a tmpfs here";
  // Another program takes the room that the reservation of `a` left, before the manifest is written.
  const auto fill = [&](const StageProgress&) {
    MessageOf([&] { WriteFile(root_ / "other", std::string(3u << 20, 'x')); });
  };
  const auto text = MessageOf([&] { Stage(Plan(), {fill, {}}); });
  EXPECT_THAT(text, HasSubstr("is full: dataset 'train' needs"));
  ExpectNothingPublished();
}

TEST_F(StageTest, SaysWhenInodesLack) {
  if (!MountSmallDisk(root_, "size=4m,nr_inodes=5,mode=0700")) GTEST_SKIP() << "cannot mount a tmpfs here";
  const auto plan = PlanAsIfThereWereRoom();
  EXPECT_THAT(Refusal(plan), HasSubstr("inodes"));
}

TEST_F(StageTest, RefusesAReadOnlyTier) {
  if (!MountSmallDisk(root_, "size=4m,ro,mode=0700")) GTEST_SKIP() << "cannot mount a tmpfs here";
  EXPECT_THAT(MessageOf([&] { Plan(); }), HasSubstr("Read-only file system"));
}

TEST_F(StageTest, RefusesAPlanForAWindow) {
  auto plan = Plan();
  plan.layout = Layout::kStream;
  EXPECT_THAT(MessageOf([&] { Stage(plan); }), HasSubstr("planned as a window"));
}

TEST_F(StageTest, StagesAgainWhatHasLostItsIndex) {
  const auto plan = Plan();
  Stage(plan).lease.reset();
  fs::remove(plan.directory / "records.index");
  EXPECT_FALSE(Stage(plan).adopted);
  EXPECT_TRUE(fs::exists(plan.directory / "records.index"));
}

TEST_F(StageTest, NeverFillsATierBeyondItsCapacity) {
  auto plan = Plan();
  plan.capacity = Bytes{1};
  EXPECT_THAT(MessageOf([&] { Stage(plan); }), AllOf(HasSubstr("is full"), HasSubstr("0 B is available")));
}

}  // namespace
}  // namespace slipway::staging
