#include "staging/generation/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/files.h"
#include "staging/dataset/manifest.h"
#include "staging/dataset/record_index.h"
#include "staging/generation/stage.h"
#include "tests/staging/staging_support.h"

namespace slipway::staging {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class VerifyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Put(files_ / "source/a.tfrecord", TfrecordBytes(1000, 10'000));  // three blocks
    Put(files_ / "source/b.tfrecord", TfrecordBytes(3, 10'000));
    staged_ = Stage(PlanFor(RequestFor(files_ / "source", files_ / "tier", DataFormat::kTfrecord))).directory;
  }
  std::vector<Damage> DamageFound() const { return VerifyGeneration(staged_).damage; }
  /// The manifest with a change that a program made.
  void Rewrite(const std::function<void(Manifest&)>& change) const {
    auto manifest = ParseManifest(ReadFile(staged_ / kManifestName));
    change(manifest);
    WriteFile(staged_ / kManifestName, RenderManifest(manifest));
  }

  TemporaryDirectory files_;
  fs::path staged_;
};

TEST_F(VerifyTest, FindsNothingInAGoodCopyAndReadsAllOfIt) {
  Bytes last;
  const auto result = VerifyGeneration(staged_, [&](const StageProgress& progress) { last = progress.done; });
  EXPECT_THAT(result.damage, IsEmpty());
  EXPECT_EQ(result.files, 2u);
  EXPECT_EQ(result.bytes, Bytes{1003 * 10'016});
  EXPECT_EQ(last, result.bytes);
  EXPECT_EQ(result.generation, staged_.filename());
}

TEST_F(VerifyTest, WithFramingDamagedRecordsAreStagedAsTheyAreAndALaterFlippedBitIsFound) {
  FlipBit(files_ / "source/b.tfrecord", 15'000);
  for (const auto mode : {VerifyMode::kFraming, VerifyMode::kFullFraming}) {
    auto request = RequestFor(files_ / "source", files_ / "tier", DataFormat::kTfrecord);
    request.verify = mode;
    staged_ = Stage(PlanFor(request)).directory;
    EXPECT_EQ(ReadFile(staged_ / "b.tfrecord"), ReadFile(files_ / "source/b.tfrecord"));
    const auto manifest = ParseManifest(ReadFile(staged_ / kManifestName));
    EXPECT_EQ(manifest.verify, mode);
    EXPECT_EQ(manifest.TotalRecords(), 1003u);
    EXPECT_THAT(DecodeRecordIndices(ReadFile(staged_ / kRecordIndexName)).at(1).offsets, SizeIs(3));
    EXPECT_THAT(DamageFound(), IsEmpty());
    FlipBit(staged_ / "b.tfrecord", 25'000);
    EXPECT_THAT(DamageFound(), SizeIs(1));
  }
}

TEST_F(VerifyTest, NamesTheBlockOfAFlippedBit) {
  FlipBit(staged_ / "a.tfrecord", 5 << 20);
  const auto damage = DamageFound();
  ASSERT_THAT(damage, SizeIs(1));
  EXPECT_EQ(damage[0].file, "a.tfrecord");
  EXPECT_EQ(damage[0].offset, 4u << 20);
  EXPECT_EQ(damage[0].bytes, Bytes{4u << 20});
}

TEST_F(VerifyTest, NamesEveryBadBlock) {
  FlipBit(staged_ / "a.tfrecord", 0);
  FlipBit(staged_ / "a.tfrecord", 10'015'999);
  FlipBit(staged_ / "b.tfrecord", 77);
  const auto damage = DamageFound();
  ASSERT_THAT(damage, SizeIs(3));
  EXPECT_EQ(damage[1].bytes, Bytes{10'016'000 - (8u << 20)});
  EXPECT_EQ(damage[2].file, "b.tfrecord");
}

TEST_F(VerifyTest, NamesAFileThatIsShortOrGone) {
  fs::resize_file(staged_ / "a.tfrecord", 10);
  fs::remove(staged_ / "b.tfrecord");
  const auto damage = DamageFound();
  ASSERT_THAT(damage, SizeIs(2));
  EXPECT_THAT(damage[0].reason, HasSubstr("has 10 bytes, the manifest says 10016000"));
  EXPECT_THAT(damage[1].reason, HasSubstr("No such file"));
}

TEST_F(VerifyTest, ComparesTheCountOfRecords) {
  Rewrite([](Manifest& manifest) { manifest.files[1].records = 4; });
  const auto damage = DamageFound();
  ASSERT_THAT(damage, SizeIs(1));
  EXPECT_THAT(damage[0].reason, HasSubstr("3 records, the manifest says 4"));
}

TEST_F(VerifyTest, ChecksTheRecordIndex) {
  FlipBit(staged_ / kRecordIndexName, 30);
  EXPECT_THAT(DamageFound(), SizeIs(1));
  fs::remove(staged_ / kRecordIndexName);
  EXPECT_THAT(DamageFound(), SizeIs(1));
}

TEST_F(VerifyTest, LeavesTheGenerationForNoName) {
  Rewrite([](Manifest& manifest) { manifest.files[1].path = "../../source/b.tfrecord"; });
  const auto damage = DamageFound();
  ASSERT_THAT(damage, SizeIs(1));
  EXPECT_THAT(damage[0].reason, HasSubstr("leads out of the generation"));
}

TEST_F(VerifyTest, NeedsAManifest) {
  fs::remove(staged_ / kManifestName);
  EXPECT_THAT(MessageOf([&] { DamageFound(); }), HasSubstr("manifest.json"));
}

TEST_F(VerifyTest, ReadsThroughTheLinksOfDataReadInPlace) {
  auto request = RequestFor(files_ / "source", files_ / "tier", DataFormat::kTfrecord);
  request.tiers = {"none"};
  const auto links = Stage(PlanFor(request), {{}, {}, files_ / "run"}).directory;
  EXPECT_THAT(VerifyGeneration(links).damage, IsEmpty());
  FlipBit(files_ / "source/b.tfrecord", 500);
  EXPECT_THAT(VerifyGeneration(links).damage, SizeIs(1));
}

}  // namespace
}  // namespace slipway::staging
