// Damaged files and records under both policies, and files that change while they are read.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "staging/dataset/record_index.h"
#include "staging/formats/example.h"
#include "staging/formats/tfrecord.h"
#include "staging/reader/batches.h"
#include "staging/reader/record_file.h"
#include "tests/staging/formats_support.h"
#include "tests/staging/reader/batches_support.h"
#include "tests/support/flip_bit.h"
#include "tests/support/temp_directory.h"

namespace slipway::staging {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto kPart = "part-100.tfrecord";

class Faults : public testing::Test {
 protected:
  Faults() { MakeGeneration(directory_.path(), {12}, WithIndex::kYes); }

  /// Flips a bit in the data of this record.
  void Damage(std::uint64_t record) const {
    const auto frame = NumberedExample(0).size() + 16;
    const auto path = directory_ / kPart;
    test::FlipBit(path, record * frame + 20);
  }

  BatchOptions InOrder(OnCorrupt on_corrupt, std::uint64_t batch = 4) const {
    auto options = LabelOptions(batch);
    options.order = RecordOrder::kInOrder;
    options.on_corrupt = on_corrupt;
    return options;
  }

  BatchReader Open(const BatchOptions& options) const { return BatchReader::Open(directory_.path(), options); }

  test::TempDirectory directory_;
};

TEST_F(Faults, AFlippedBitEndsTheReaderWithFileAndRecord) {
  Damage(5);
  auto reader = Open(InOrder(OnCorrupt::kFail));
  EXPECT_THAT(LabelsOf(*reader.Next()), ElementsAre(0, 1, 2, 3));
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(ErrorOf([&] { reader.Next(); }).what(),
                AllOf(HasSubstr("part-100.tfrecord': record 5 at byte"), HasSubstr("CRC32C")));
  }
  EXPECT_EQ(reader.Position(), (EpochPosition{0, 4}));
}

TEST_F(Faults, SkippingReadsTheNextRecordsInsteadAndSaysSo) {
  Damage(5);
  Damage(6);
  Damage(11);
  auto reader = Open(InOrder(OnCorrupt::kSkip));
  // 5 and 6 are replaced by 7, and 11, after which nothing comes, by the one before.
  EXPECT_THAT(LabelsOfEpoch(reader), ElementsAre(0, 1, 2, 3, 4, 7, 7, 7, 8, 9, 10, 10));
  const auto& stats = reader.stats();
  EXPECT_EQ(stats.corrupt_records, 3u);
  EXPECT_EQ(stats.replaced, 3u);
  ASSERT_EQ(stats.corrupt.size(), 3u);
  EXPECT_EQ(stats.corrupt[0].record, 5u);
  EXPECT_THAT(stats.corrupt[0].where, HasSubstr("part-100.tfrecord': record 5"));
  EXPECT_THAT(stats.corrupt[0].reason, HasSubstr("CRC32C"));
  LabelsOfEpoch(reader);
  EXPECT_EQ(reader.stats().corrupt_records, 3u);
  EXPECT_EQ(reader.stats().replaced, 6u);
}

TEST_F(Faults, ADamagedFirstRecordIsLikeAnyOther) {
  Damage(0);
  auto skipping = Open(InOrder(OnCorrupt::kSkip));
  EXPECT_THAT(LabelsOf(*skipping.Next()), ElementsAre(1, 1, 2, 3));
  auto failing = Open(InOrder(OnCorrupt::kFail));
  EXPECT_THAT(ErrorOf([&] { failing.Next(); }).message(), HasSubstr("record 0 at byte 0"));
  for (std::uint64_t record = 1; record < 12; ++record) Damage(record);
  EXPECT_THAT(ErrorOf([&] { Open(InOrder(OnCorrupt::kSkip)); }).message(), HasSubstr("record 11 at byte"));
}

TEST_F(Faults, SkippingIsTheSameWhateverTheThreadsAndKeepsRanksInStep) {
  Damage(1);
  Damage(8);
  std::vector<std::vector<std::int64_t>> seen;
  std::vector<std::vector<std::uint64_t>> corrupt;
  for (const int threads : {1, 4}) {
    auto options = InOrder(OnCorrupt::kSkip, 3);
    options.order = RecordOrder::kGlobal;
    options.threads = threads;
    options.world = 2;
    std::vector<std::size_t> steps;
    auto& labels = seen.emplace_back();
    auto& records = corrupt.emplace_back();
    for (options.rank = 0; options.rank < 2; ++options.rank) {
      auto reader = Open(options);
      const auto epoch = LabelsOfEpoch(reader);
      EXPECT_EQ(epoch.size(), 6u);
      labels.insert(labels.end(), epoch.begin(), epoch.end());
      for (const auto& record : reader.stats().corrupt) records.push_back(record.record);
    }
  }
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_EQ(corrupt[0], corrupt[1]);
  EXPECT_THAT(corrupt[0], testing::UnorderedElementsAre(1, 8));
  EXPECT_THAT(seen[0], AllOf(Not(testing::Contains(1)), Not(testing::Contains(8))));
}

TEST_F(Faults, NothingButDamageIsAnErrorAlsoWhenSkipping) {
  for (std::uint64_t record = 0; record < 12; ++record) Damage(record);
  auto options = InOrder(OnCorrupt::kSkip);
  options.fields.clear();
  options.payloads = true;
  auto reader = Open(options);
  EXPECT_THAT(ErrorOf([&] { reader.Next(); }).message(), HasSubstr("none of the 12 records"));
}

TEST_F(Faults, TheListOfSkippedRecordsHasAnEnd) {
  const test::TempDirectory many;
  std::vector<std::string> records = {NumberedExample(0)};
  for (int i = 1; i <= 150; ++i) records.push_back("damaged");
  MakeTfrecords(many / "a.tfrecord", records);
  auto options = InOrder(OnCorrupt::kSkip, 1);
  auto reader = BatchReader::Open(many.path(), options);
  LabelsOfEpoch(reader);
  EXPECT_EQ(reader.stats().corrupt_records, 150u);
  EXPECT_EQ(reader.stats().replaced, 150u);
  EXPECT_EQ(reader.stats().corrupt.size(), kMostCorruptListed);
}

TEST_F(Faults, AFieldThatIsMissingOrHasAnotherLengthIsDamage) {
  const test::TempDirectory odd;
  MakeTfrecords(odd / "a.tfrecord", {NumberedExample(0), ExampleBuilder().AddInt("label", 1).Finish(),
                                     NumberedExample(2, 7), NumberedExample(3)});
  auto options = InOrder(OnCorrupt::kSkip, 1);
  options.fields = {{"image", {}, {}, {}}, {"label", {}, {}, {}}};
  auto reader = BatchReader::Open(odd.path(), options);
  EXPECT_THAT(LabelsOfEpoch(reader), ElementsAre(0, 3, 3, 3));
  EXPECT_THAT(reader.stats().corrupt[0].reason,
              AllOf(HasSubstr("field 'image'"), HasSubstr("expected one value of 6 bytes, found no such feature")));
  EXPECT_THAT(reader.stats().corrupt[1].reason, HasSubstr("found one value of 7 bytes"));
}

TEST_F(Faults, APictureThatCannotBeDecodedIsDamage) {
  const test::TempDirectory pictures;
  const auto record = [](const std::string& jpeg) { return ExampleBuilder().AddBytes("image", jpeg).Finish(); };
  const auto good = GreyJpeg(16, 16, 50);
  MakeTfrecords(pictures / "a.tfrecord", {record(good), record(good.substr(0, 100)), record("PNG")});
  auto options = InOrder(OnCorrupt::kSkip, 3);
  options.fields = {
      {"image",
       {},
       {},
       ParseTransforms(Json::parse(R"([{"op": "decode_jpeg"}, {"op": "random_crop", "size": [8, 8]}])"))}};
  auto reader = BatchReader::Open(pictures.path(), options);
  const auto* batch = reader.Next();
  EXPECT_THAT(batch->fields[0].shape, ElementsAre(3, 8, 8, 3));
  EXPECT_THAT(std::vector(batch->records.begin(), batch->records.end()), ElementsAre(0, 0, 0));
  EXPECT_EQ(reader.stats().corrupt_records, 2u);
  EXPECT_THAT(reader.stats().corrupt[0].reason, HasSubstr("field 'image': the JPEG picture cannot be decoded"));
}

TEST_F(Faults, ATornFileIsRefusedAtOpenUnderBothPolicies) {
  const auto path = directory_ / kPart;
  fs::resize_file(path, fs::file_size(path) - 5);
  for (const auto policy : {OnCorrupt::kFail, OnCorrupt::kSkip}) {
    EXPECT_THAT(ErrorOf([&] { Open(InOrder(policy)); }).message(), HasSubstr("the index of its records ends at"));
    EXPECT_THAT(ErrorOf([&] { BatchReader::Open(path, InOrder(policy)); }).message(),
                AllOf(HasSubstr("record 11 at byte"), HasSubstr("the file ends after")));
  }
}

TEST_F(Faults, AnIndexThatIsDamagedOrOfOtherFilesIsRefused) {
  const auto path = directory_ / kRecordIndexName;
  const auto index = ReadFile(path);
  WriteFile(path, WithBitFlipped(index, 160));
  EXPECT_THAT(ErrorOf([&] { Open(InOrder(OnCorrupt::kSkip)); }).what(),
              AllOf(HasSubstr("records.index"), HasSubstr("its manifest promises")));
  ReplaceIndex(directory_.path(), WithBitFlipped(index, 160));
  EXPECT_THAT(ErrorOf([&] { Open(InOrder(OnCorrupt::kSkip)); }).what(), HasSubstr("its CRC32C is wrong"));
  ReplaceIndex(directory_.path(), EncodeRecordIndices(std::vector<RecordIndex>(2)));
  EXPECT_THAT(ErrorOf([&] { Open(InOrder(OnCorrupt::kSkip)); }).message(), HasSubstr("the index of 2 files"));
}

TEST_F(Faults, AnIndexWithWrongPlacesIsSeenWhenReading) {
  // Right in every sum, but the border between two records lies elsewhere.
  const auto frame = NumberedExample(0).size() + 16;
  RecordIndex index;
  for (std::uint64_t i = 0; i < 12; ++i) index.offsets.push_back(i * frame);
  index.offsets[5] += 3;
  index.end = 12 * frame;
  ReplaceIndex(directory_.path(), EncodeRecordIndices({&index, 1}));
  auto reader = Open(InOrder(OnCorrupt::kSkip));
  EXPECT_THAT(LabelsOfEpoch(reader), ElementsAre(0, 1, 2, 3, 6, 6, 6, 7, 8, 9, 10, 11));
}

TEST_F(Faults, BordersThatLeaveNoRoomForRecordsAreRefused) {
  DatasetFile file{directory_ / kPart, {}, {}, {}, true};
  const auto bytes = fs::file_size(file.path);
  InflatedFiles inflated(0);
  for (const std::vector<std::uint64_t>& offsets : std::vector<std::vector<std::uint64_t>>{
           {}, {1}, {0, 15}, {0, 32, 16}, {0, bytes - 15}, {0, bytes}, {0, ~0ULL}}) {
    file.index = RecordIndex{offsets, bytes};
    EXPECT_THAT(ErrorOf([&] { RecordFile(file, AccessPattern::kInOrder, inflated); }).message(),
                AllOf(HasSubstr(kPart), HasSubstr("is damaged")))
        << testing::PrintToString(offsets);
  }
}

TEST_F(Faults, AFileOutsideOfAGenerationMayBecomeShorter) {
  const auto path = directory_ / kPart;
  for (const auto policy : {OnCorrupt::kFail, OnCorrupt::kSkip}) {
    const auto whole = ReadFile(path);
    auto options = InOrder(policy, 2);
    options.prefetch = 1;
    auto reader = BatchReader::Open(path, options);
    reader.Next();
    fs::resize_file(path, fs::file_size(path) / 2 + 3);  // record 6 is torn
    if (policy == OnCorrupt::kFail) {
      EXPECT_THAT(ErrorOf([&] { LabelsOfEpoch(reader); }).message(), HasSubstr("become shorter"));
    } else {
      const auto labels = LabelsOfEpoch(reader);
      EXPECT_EQ(labels.size(), 10u);
      EXPECT_THAT(std::vector(labels.begin(), labels.begin() + 4), ElementsAre(2, 3, 4, 5));
      EXPECT_THAT(labels.back(), 5);
    }
    WriteFile(path, whole);
  }
}

TEST_F(Faults, AFileOutsideOfAGenerationMayBecomeAnother) {
  const auto path = directory_ / kPart;
  auto options = InOrder(OnCorrupt::kFail, 2);
  options.prefetch = 1;
  auto reader = BatchReader::Open(path, options);
  std::vector<std::string> others;
  for (std::uint64_t i = 0; i < 12; ++i) others.push_back(NumberedExample(i, 9));
  MakeTfrecords(path, others);
  EXPECT_THAT(ErrorOf([&] { LabelsOfEpoch(reader); }).what(),
              AllOf(HasSubstr("part-100.tfrecord"), HasSubstr("record")));
}

TEST_F(Faults, WhatCannotBeReadIsSaidWhenOpening) {
  const auto refusal = [&](const BatchOptions& options) { return std::string(ErrorOf([&] { Open(options); }).what()); };
  auto options = LabelOptions(4);
  options.fields[0].name = "lable";
  EXPECT_THAT(refusal(options), HasSubstr("no field 'lable'; it has: image, floats, label"));
  options = LabelOptions(13);
  EXPECT_THAT(refusal(options), HasSubstr("12 records are fewer than one batch of 13 on 1 rank"));
  options = LabelOptions(4);
  options.fields = {{"image", {}, Shape{2, 2}, {}}};
  EXPECT_THAT(refusal(options), HasSubstr("6 bytes, which is no uint8 [2, 2]"));
  options.fields = {{"label", ElementType::kInt32, {}, {}}};
  EXPECT_THAT(refusal(options), HasSubstr("use the transform 'cast'"));
  options.fields = {{"label", {}, {}, ParseTransforms(Json::parse(R"([{"op": "decode_jpeg"}])"))}};
  EXPECT_THAT(refusal(options), HasSubstr("only bytes can be decoded"));
  options.fields = {};
  EXPECT_THAT(refusal(options), HasSubstr("name no fields"));
  options = LabelOptions(4);
  options.rank = 4;
  EXPECT_THAT(refusal(options), HasSubstr("no rank 4"));
}

TEST_F(Faults, ADamagedCompressedFileIsNamed) {
  const test::TempDirectory compressed;
  {
    TfrecordWriter writer(compressed / "a.tfrecord", Compression::kGzip);
    for (std::uint64_t i = 0; i < 6; ++i) writer.Write(NumberedExample(i));
    writer.Close();
  }
  DescribeGeneration(compressed.path(), WithIndex::kYes);
  auto reader = BatchReader::Open(compressed.path(), InOrder(OnCorrupt::kFail, 2));
  EXPECT_EQ(LabelsOfEpoch(reader).size(), 6u);
  const auto path = compressed / "a.tfrecord";
  WriteFile(path, WithBitFlipped(ReadFile(path), fs::file_size(path) * 8 - 20));
  auto options = InOrder(OnCorrupt::kFail, 2);
  options.payloads = true;
  options.fields.clear();
  auto damaged = BatchReader::Open(compressed.path(), options);
  EXPECT_THAT(ErrorOf([&] { damaged.Next(); }).what(), HasSubstr("a.tfrecord"));
}

}  // namespace
}  // namespace slipway::staging
