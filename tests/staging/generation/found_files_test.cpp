#include "staging/generation/found_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <array>
#include <random>

#include "core/error.h"
#include "core/files.h"
#include "staging/dataset/manifest.h"
#include "staging/generation/stage.h"
#include "staging/generation/verify.h"
#include "tests/staging/staging_support.h"

namespace slipway::staging {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::size_t kFoundRecord = 10'000;

/// Bytes without a pattern that repeats.
std::string Noise(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::string bytes(size, '\0');
  for (auto& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

class FoundFilesTest : public ::testing::Test {
 protected:
  void TearDown() override { ::umount2((place_ / "tier").c_str(), MNT_DETACH | UMOUNT_NOFOLLOW); }

  /// In the tier, as a directive would have put it there.
  void Find(const fs::path& name) {
    fs::create_directories((found_ / name).parent_path());
    fs::copy_file(source_ / name, found_ / name);
  }
  void Provide(const fs::path& name, const std::string& content) {
    Put(source_ / name, content);
    Find(name);
  }

  StagingPlan Plan() const {
    auto request = RequestFor(source_, root_, format_);
    request.verify = verify_;
    return PlanFor(request);
  }
  StageOptions Options() const {
    StageOptions options;
    options.found = {found_, of_these_sources_};
    return options;
  }
  StagedDataset TakeAll() const { return Stage(Plan(), Options()); }

  /// Whatever was found, what is published is what its source holds.
  void ExpectPublishedAsInTheSource(const StagedDataset& staged) const {
    const auto manifest = ParseManifest(ReadFile(staged.manifest));
    for (const auto& file : Plan().files) {
      EXPECT_EQ(ReadFile(staged.directory / file.name), ReadFile(file.path)) << file.name.native();
      EXPECT_FALSE(fs::is_symlink(staged.directory / file.name));
    }
    EXPECT_THAT(VerifyGeneration(staged.directory).damage, IsEmpty());
    EXPECT_FALSE(fs::exists(found_)) << "what is of no use takes no room";
  }
  /// The only file that was mended; its reason.
  static std::string ReasonOf(const StagedDataset& staged, const std::string& name) {
    if (staged.mended.size() != 1 || staged.mended[0].name != name) return "other files were mended";
    return staged.mended[0].reason;
  }

  TemporaryDirectory place_;
  const fs::path source_ = place_ / "source";
  const fs::path root_ = place_ / "tier/slipway";
  const fs::path found_ = place_ / "tier/staged/train";
  DataFormat format_ = DataFormat::kTfrecord;
  VerifyMode verify_ = VerifyMode::kFormat;
  bool of_these_sources_ = true;
};

TEST_F(FoundFilesTest, WhatIsWholeIsTakenAndNotCopied) {
  Provide("a.tfrecord", TfrecordBytes(1000, kFoundRecord));
  Provide("d/b.tfrecord", TfrecordBytes(3, kFoundRecord));
  const auto staged = TakeAll();
  EXPECT_TRUE(staged.found);
  EXPECT_THAT(staged.mended, IsEmpty());
  EXPECT_EQ(staged.copied, Bytes{0});
  EXPECT_EQ(staged.kept, Plan().total);
  ExpectPublishedAsInTheSource(staged);
}

TEST_F(FoundFilesTest, TheManifestIsThatOfACopy) {
  Provide("a.tfrecord", TfrecordBytes(1000, kFoundRecord));
  const auto found = ParseManifest(ReadFile(TakeAll().manifest));
  fs::remove_all(root_);
  const auto copied = ParseManifest(ReadFile(Stage(Plan()).manifest));
  EXPECT_EQ(found.files[0].crc32c, copied.files[0].crc32c);
  EXPECT_EQ(found.files[0].records, copied.files[0].records);
  EXPECT_EQ(found.index->crc32c, copied.index->crc32c);
}

TEST_F(FoundFilesTest, ADamagedRecordIsNamedAndTheFileCopied) {
  Provide("a.tfrecord", TfrecordBytes(100, kFoundRecord));
  Provide("b.tfrecord", TfrecordBytes(3, kFoundRecord));
  FlipBit(found_ / "a.tfrecord", 5 * (kFoundRecord + 16) + 100);
  const auto staged = TakeAll();
  EXPECT_THAT(ReasonOf(staged, "a.tfrecord"), HasSubstr("record 5"));
  ExpectPublishedAsInTheSource(staged);
}

TEST_F(FoundFilesTest, WithoutSumsOfItsOwnOnlyTheBadBlockIsCopied) {
  format_ = DataFormat::kRaw;
  Provide("a", Noise(3 * kCrcBlock + 17, 1));
  FlipBit(found_ / "a", kCrcBlock + 5);
  const auto staged = TakeAll();
  EXPECT_THAT(ReasonOf(staged, "a"), AllOf(HasSubstr("from 4194304 on"), HasSubstr("source")));
  EXPECT_EQ(staged.copied, Bytes{kCrcBlock});
  ExpectPublishedAsInTheSource(staged);
}

TEST_F(FoundFilesTest, AHoleIsFound) {
  format_ = DataFormat::kRaw;
  Provide("a", Noise(2 * kCrcBlock, 1));
  fs::resize_file(found_ / "a", kCrcBlock);
  fs::resize_file(found_ / "a", 2 * kCrcBlock);
  const auto staged = TakeAll();
  EXPECT_THAT(ReasonOf(staged, "a"), HasSubstr("from 4194304 on"));
  ExpectPublishedAsInTheSource(staged);
}

TEST_F(FoundFilesTest, WhereTheSourceHasAHoleOtherBytesAreOverwritten) {
  format_ = DataFormat::kRaw;
  Put(source_ / "a", "");
  fs::resize_file(source_ / "a", 2 * kCrcBlock);
  Put(found_ / "a", Noise(2 * kCrcBlock, 1));
  const auto staged = TakeAll();
  EXPECT_THAT(ReasonOf(staged, "a"), HasSubstr("from 0 on"));
  ExpectPublishedAsInTheSource(staged);
}

TEST_F(FoundFilesTest, YesterdaysStateOfASourceIsNotTaken) {
  Put(source_ / "a.tfrecord", TfrecordBytes(100, kFoundRecord));
  Put(found_ / "a.tfrecord", TfrecordBytes(100, kFoundRecord));
  Put(source_ / "a.tfrecord", TfrecordBytes(1, 100 * (kFoundRecord + 16) - 16));  // of the same size, and as sound
  of_these_sources_ = false;
  const auto staged = TakeAll();
  EXPECT_THAT(ReasonOf(staged, "a.tfrecord"), HasSubstr("source"));
  ExpectPublishedAsInTheSource(staged);
}

TEST_F(FoundFilesTest, AManifestBesideTheSourceIsWhatAFileIsComparedWith) {
  format_ = DataFormat::kRaw;
  Put(source_ / "a", Noise(2 * kCrcBlock, 1));
  const auto first = Stage(Plan());
  const auto plan = PlanFor(RequestFor(first.directory / "a", root_, format_));  // a manifest lies beside it
  fs::create_directories(found_);
  fs::copy_file(first.directory / "a", found_ / "a");
  FlipBit(found_ / "a", 7);
  const auto staged = Stage(plan, Options());
  EXPECT_THAT(ReasonOf(staged, "a"), HasSubstr("manifest"));
  EXPECT_EQ(staged.copied, Bytes{kCrcBlock});
  EXPECT_EQ(ReadFile(staged.directory / "a"), ReadFile(source_ / "a"));
}

TEST_F(FoundFilesTest, WhatOthersCouldChangeIsNotTaken) {
  const std::vector<std::string> names = {"cut", "gone", "grown", "link", "second_name"};
  for (const auto& name : names) Provide(name + ".tfrecord", TfrecordBytes(3, kFoundRecord));
  fs::resize_file(found_ / "cut.tfrecord", 2 * (kFoundRecord + 16));
  fs::remove(found_ / "gone.tfrecord");
  Put(found_ / "grown.tfrecord", TfrecordBytes(4, kFoundRecord));
  fs::remove(found_ / "link.tfrecord");
  fs::create_symlink(source_ / "link.tfrecord", found_ / "link.tfrecord");
  fs::create_hard_link(found_ / "second_name.tfrecord", place_ / "elsewhere");
  const auto staged = TakeAll();
  std::vector<std::string> reasons;
  for (const auto& file : staged.mended) reasons.push_back(file.name + ": " + file.reason);
  EXPECT_THAT(reasons,
              ElementsAre("cut.tfrecord: it has 20032 bytes, its source has 30048", "gone.tfrecord: it is not there",
                          "grown.tfrecord: it has 40064 bytes, its source has 30048",
                          "link.tfrecord: it is no regular file", "second_name.tfrecord: it has another name as well"));
  ExpectPublishedAsInTheSource(staged);
}

TEST_F(FoundFilesTest, WhatCannotBeMendedEndsTheStagingWithThatReason) {
  Provide("a.tfrecord", TfrecordBytes(3, kFoundRecord));
  FlipBit(found_ / "a.tfrecord", 100);
  FlipBit(source_ / "a.tfrecord", 200);
  const auto plan = Plan();
  EXPECT_THAT(MessageOf([&] { Stage(plan, Options()); }), HasSubstr("a.tfrecord"));
  EXPECT_THAT(GenerationsIn(root_), IsEmpty());
}

TEST_F(FoundFilesTest, TheirRoomIsNotAskedForTwice) {
  fs::create_directories(place_ / "tier");
  if (!MountSmallDisk(place_ / "tier", "size=6m,mode=0700")) GTEST_SKIP() << "cannot mount a tmpfs here";
  fs::create_directories(root_);
  fs::permissions(root_, fs::perms::owner_all);
  Provide("a.tfrecord", TfrecordBytes(400, kFoundRecord));
  const auto request = RequestFor(source_, root_, format_);
  const auto plan =
      PlanStaging(request, ListSources(request), {{request.tiers[0], root_, Bytes{1u << 30}, 1000, true, {}, {}}});
  const auto staged = Stage(plan, Options());
  EXPECT_THAT(staged.mended, IsEmpty());
  ExpectPublishedAsInTheSource(staged);
}

TEST_F(FoundFilesTest, AStagingThatWasInterruptedGoesOnWithWhatItHadTakenOver) {
  format_ = DataFormat::kRaw;
  for (const auto name : {"a", "b", "c", "d"}) Provide(name, Noise(3 * kCrcBlock, 7));
  FlipBit(found_ / "b", 1);
  auto options = Options();
  options.files_at_once = 1;
  Bytes seen;
  options.progress = [&](const StageProgress& progress) { seen = progress.done; };
  options.cancelled = [&] { return seen.count > 5 * kCrcBlock; };
  const auto plan = Plan();
  EXPECT_THAT(MessageOf([&] { Stage(plan, options); }), HasSubstr("cancelled"));
  const auto staged = TakeAll();
  EXPECT_GT(staged.kept, Bytes{4 * kCrcBlock}) << "the files that had been checked";
  ExpectPublishedAsInTheSource(staged);
}

TEST_F(FoundFilesTest, WhatIsPublishedAlreadyIsAdopted) {
  Provide("a.tfrecord", TfrecordBytes(3, kFoundRecord));
  Stage(Plan()).lease.reset();
  FlipBit(found_ / "a.tfrecord", 100);
  const auto staged = TakeAll();
  EXPECT_TRUE(staged.adopted);
  ExpectPublishedAsInTheSource(staged);
}

/// What a directive may have made of a file.
void Spoil(const fs::path& path, std::mt19937& random) {
  const auto size = fs::file_size(path);
  switch (random() % 7) {
    case 0: fs::remove(path); return;
    case 1: fs::resize_file(path, random() % size); return;
    case 2: fs::resize_file(path, size + 1 + random() % 5000); return;
    case 3: FlipBit(path, random() % size); return;
    case 4: {  // a hole to its end
      const auto cut = random() % size;
      fs::resize_file(path, cut);
      fs::resize_file(path, size);
      return;
    }
    case 5: fs::remove(path), fs::create_directory(path); return;
    default: WriteFile(path, Noise(size, static_cast<unsigned>(random()))); return;
  }
}

TEST_F(FoundFilesTest, WhateverWasFoundTheSourceIsWhatIsPublishedAndWhatWasSpoiledIsNamed) {
  for (unsigned seed = 0; seed < 15; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    fs::remove_all(source_);
    fs::remove_all(place_ / "tier");
    format_ = random() % 2 == 0 ? DataFormat::kTfrecord : DataFormat::kRaw;
    verify_ = std::array{VerifyMode::kOff, VerifyMode::kFormat, VerifyMode::kFull}.at(random() % 3);
    of_these_sources_ = random() % 2 == 0;
    std::vector<std::string> spoiled;
    for (const auto name : {"a.tfrecord", "b.tfrecord", "c/d.tfrecord", "e.tfrecord"}) {
      Provide(name, TfrecordBytes(1 + random() % 500, kFoundRecord + random() % 1000));
      if (random() % 2 == 0) continue;
      Spoil(found_ / name, random);
      const bool same = fs::is_regular_file(found_ / name) && ReadFile(found_ / name) == ReadFile(source_ / name);
      if (!same) spoiled.emplace_back(name);
    }
    const auto staged = TakeAll();
    std::vector<std::string> mended;
    for (const auto& file : staged.mended) mended.push_back(file.name);
    EXPECT_EQ(mended, spoiled);
    ExpectPublishedAsInTheSource(staged);
  }
}

TEST(FoundBasis, TakesTheCheapestProofThatThereIs) {
  DatasetRequest request;
  request.format = DataFormat::kTfrecord;
  EXPECT_EQ(BasisFor(request, true, false), FoundBasis::kFormat);
  EXPECT_EQ(BasisFor(request, true, true), FoundBasis::kNoted);
  EXPECT_EQ(BasisFor(request, false, false), FoundBasis::kSource) << "an older state may be sound, too";
  request.verify = VerifyMode::kFull;
  EXPECT_EQ(BasisFor(request, true, false), FoundBasis::kSource);
  request.verify = VerifyMode::kOff;
  EXPECT_EQ(BasisFor(request, true, false), FoundBasis::kSource) << "nobody looks at the format";
  request = {};
  request.format = DataFormat::kHdf5;
  EXPECT_EQ(BasisFor(request, true, false), FoundBasis::kSource) << "HDF5 need not have sums";
}

}  // namespace
}  // namespace slipway::staging
