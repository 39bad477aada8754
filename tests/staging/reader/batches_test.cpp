#include "staging/reader/batches.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/error.h"
#include "staging/formats/tfrecord.h"
#include "staging/reader/transforms.h"
#include "tests/staging/formats_support.h"
#include "tests/staging/reader/batches_support.h"
#include "tests/support/temp_directory.h"

namespace slipway::staging {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::int64_t> Numbers(std::int64_t count) {
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(i);
  return numbers;
}

std::vector<std::int64_t> Sorted(std::vector<std::int64_t> numbers) {
  std::ranges::sort(numbers);
  return numbers;
}

class Batches : public testing::Test {
 protected:
  Batches() { MakeGeneration(directory_.path(), {7, 0, 11, 2}, WithIndex::kYes); }

  BatchReader Open(const BatchOptions& options) const { return BatchReader::Open(directory_.path(), options); }

  test::TempDirectory directory_;
};

TEST_F(Batches, AnEpochHoldsEveryRecordOnce) {
  for (const auto order : {RecordOrder::kGlobal, RecordOrder::kWindowed, RecordOrder::kInOrder}) {
    auto options = LabelOptions(4);
    options.order = order;
    options.window = 5;
    auto reader = Open(options);
    EXPECT_EQ(reader.record_count(), 20u);
    EXPECT_EQ(reader.steps_per_epoch(), 5u);
    const auto first = LabelsOfEpoch(reader), second = LabelsOfEpoch(reader);
    EXPECT_EQ(Sorted(first), Numbers(20));
    EXPECT_EQ(Sorted(second), Numbers(20));
    EXPECT_EQ(first == Numbers(20), order == RecordOrder::kInOrder);
    EXPECT_EQ(first == second, order == RecordOrder::kInOrder);
  }
}

TEST_F(Batches, FollowThePureFunctionsOfSharding) {
  auto options = LabelOptions(3);
  options.seed = 11;
  options.rank = 1;
  options.world = 2;
  options.split = SplitPart{0.2, 5, false};
  auto reader = Open(options);
  LabelsOfEpoch(reader);
  const auto train = Split(20, 0.2, 5).train;
  const auto expected = ShardOf(EpochOrder(train, 11, 1), {1, 2, 3, Remainder::kDrop});
  const auto read = LabelsOfEpoch(reader);
  EXPECT_TRUE(std::ranges::equal(read, expected));
}

TEST_F(Batches, OfTheFirstRecordsOnlyWhereThereIsALimit) {
  auto options = LabelOptions(2);
  options.limit = 6;
  auto reader = Open(options);
  EXPECT_EQ(reader.record_count(), 6u);
  EXPECT_EQ(Sorted(LabelsOfEpoch(reader)), Numbers(6));
  options.split = SplitPart{0.5, 5, false};
  auto part = Open(options);
  auto expected = Split(20, 0.5, 5).train;
  expected.resize(6);
  EXPECT_TRUE(std::ranges::equal(Sorted(LabelsOfEpoch(part)), expected));
  options.limit = 100;
  EXPECT_EQ(Open(options).record_count(), 10u);
  options.shares = NodeShares{{{20, 1}}, 0};
  EXPECT_THAT(ErrorOf([&] { Open(options); }).message(), HasSubstr("not for 'shares'"));
}

TEST_F(Batches, SayWhereARecordLies) {
  const auto reader = Open(LabelOptions(2));
  EXPECT_THAT(reader.Describe(8), HasSubstr(": record 1"));
}

TEST_F(Batches, CarryFieldsWithTypeAndShape) {
  auto options = LabelOptions(4);
  options.fields = {{"image", {}, Shape{2, 3}, ParseTransforms(Json::parse(R"([{"op": "normalise", "std": [2]}])"))},
                    {"image", ElementType::kInt16, {}, {}},
                    {"floats", {}, {}, {}},
                    {"label", {}, {}, {}}};
  auto reader = Open(options);
  const auto* batch = reader.Next();
  ASSERT_NE(batch, nullptr);
  EXPECT_EQ(batch->fields[0].type, ElementType::kFloat32);
  EXPECT_THAT(batch->fields[0].shape, ElementsAre(4, 2, 3));
  EXPECT_EQ(batch->fields[1].type, ElementType::kInt16);
  EXPECT_THAT(batch->fields[1].shape, ElementsAre(4, 3));
  EXPECT_THAT(batch->fields[2].shape, ElementsAre(4, 3));
  EXPECT_THAT(batch->fields[3].shape, ElementsAre(4));
  const auto labels = LabelsOf(*batch);
  std::vector<float> images(24), floats(12);
  std::memcpy(images.data(), batch->fields[0].values.data(), 96);
  std::memcpy(floats.data(), batch->fields[2].values.data(), 48);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(static_cast<std::int64_t>(batch->records[i]), labels[i]);
    EXPECT_EQ(images[i * 6 + 5], (static_cast<float>(labels[i]) + 5) / 2);
    EXPECT_EQ(floats[i * 3], static_cast<float>(labels[i]));
    EXPECT_EQ(floats[i * 3 + 2], -1);
  }
}

TEST_F(Batches, AreTheSameWhateverTheThreads) {
  std::vector<std::vector<std::byte>> seen;
  for (const int threads : {1, 2, 5}) {
    auto options = LabelOptions(6);
    options.threads = threads;
    options.seed = 3;
    options.prefetch = static_cast<std::uint64_t>(threads);
    options.fields = {
        {"image", {}, Shape{2, 3}, ParseTransforms(Json::parse(R"([{"op": "random_crop", "size": [2, 2], "padding": 1},
                                                       {"op": "flip"}, {"op": "cast", "to": "float16"}])"))}};
    auto reader = Open(options);
    auto& bytes = seen.emplace_back();
    for (int epoch = 0; epoch < 3; ++epoch) {
      while (const auto* batch = reader.Next()) {
        bytes.insert(bytes.end(), batch->fields[0].values.begin(), batch->fields[0].values.end());
      }
    }
  }
  EXPECT_EQ(seen[0].size(), 3u * 18 * 8);
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_EQ(seen[0], seen[2]);
}

TEST_F(Batches, TheRemainderIsRepeatedOrPadded) {
  auto options = LabelOptions(8);
  options.order = RecordOrder::kInOrder;
  options.remainder = Remainder::kPad;
  auto padded = Open(options);
  padded.Next();
  padded.Next();
  const auto* last = padded.Next();
  EXPECT_THAT(LabelsOf(*last), ElementsAre(16, 17, 18, 19, -1, -1, -1, -1));
  EXPECT_EQ(last->valid_count, 4u);
  EXPECT_EQ(last->records[7], kPaddingRecord);
  EXPECT_THAT(last->fields[0].values.subspan(32), Each(std::byte{0}));
  EXPECT_EQ(padded.Position(), (EpochPosition{0, 20}));
  EXPECT_EQ(padded.Next(), nullptr);
  EXPECT_EQ(padded.Position(), (EpochPosition{1, 0}));
  options.remainder = Remainder::kRepeat;
  auto repeated = Open(options);
  const auto labels = LabelsOfEpoch(repeated);
  EXPECT_THAT(std::vector(labels.begin() + 16, labels.end()), ElementsAre(16, 17, 18, 19, 0, 1, 2, 3));
}

TEST_F(Batches, GoOnFromASavedPositionWithAnotherWorld) {
  auto options = LabelOptions(3);
  options.seed = 9;
  options.remainder = Remainder::kPad;
  std::vector<std::int64_t> read;
  {
    auto reader = Open(options);
    for (int i = 0; i < 2; ++i) {
      const auto labels = LabelsOf(*reader.Next());
      read.insert(read.end(), labels.begin(), labels.end());
    }
    options.position = ParsePosition(PositionText(reader.Position()));
  }
  options.world = 3;
  options.batch = 2;
  std::vector<std::size_t> steps;
  for (options.rank = 0; options.rank < 3; ++options.rank) {
    auto reader = Open(options);
    const auto labels = LabelsOfEpoch(reader);
    steps.push_back(labels.size());
    for (const auto label : labels) {
      if (label >= 0) read.push_back(label);
    }
  }
  EXPECT_EQ(Sorted(read), Numbers(20));
  EXPECT_THAT(steps, Each(steps[0]));
}

TEST_F(Batches, ASeekRepeatsWhatWasRead) {
  auto options = LabelOptions(4);
  options.threads = 3;
  auto reader = Open(options);
  std::vector<EpochPosition> positions;
  std::vector<std::vector<std::int64_t>> batches;
  for (int i = 0; i < 12; ++i) {
    positions.push_back(reader.Position());
    const auto* batch = reader.Next();
    batches.push_back(batch == nullptr ? std::vector<std::int64_t>{} : LabelsOf(*batch));
  }
  for (const std::size_t i : {11u, 0u, 7u, 3u, 5u, 5u}) {
    reader.Seek(positions[i]);
    EXPECT_EQ(reader.Position(), positions[i]);
    const auto* batch = reader.Next();
    EXPECT_EQ(batch == nullptr ? std::vector<std::int64_t>{} : LabelsOf(*batch), batches[i]) << i;
  }
}

TEST_F(Batches, EndAfterTheLastEpoch) {
  auto options = LabelOptions(4);
  options.epochs = 2;
  auto reader = Open(options);
  EXPECT_EQ(LabelsOfEpoch(reader).size(), 20u);
  EXPECT_EQ(LabelsOfEpoch(reader).size(), 20u);
  EXPECT_EQ(reader.Next(), nullptr);
  EXPECT_EQ(reader.Next(), nullptr);
  reader.Seek({1, 16});
  EXPECT_NE(reader.Next(), nullptr);
  EXPECT_EQ(reader.Next(), nullptr);
}

TEST_F(Batches, AtTheEndOfAnEpochAPositionIsStillInIt) {
  auto options = LabelOptions(8);
  auto reader = Open(options);
  reader.Next();
  reader.Next();
  EXPECT_EQ(reader.Position(), (EpochPosition{0, 16}));
  options.position = reader.Position();
  auto same = Open(options);
  EXPECT_EQ(same.Next(), nullptr);  // 4 records are no batch of 8
  EXPECT_EQ(LabelsOf(*same.Next()).size(), 8u);
  options.batch = 2;
  auto smaller = Open(options);
  EXPECT_EQ(LabelsOfEpoch(smaller).size(), 4u);
}

TEST_F(Batches, FillTheMemoryOfTheCaller) {
  auto options = LabelOptions(4);
  options.prefetch = 2;
  const auto bytes = BatchReader::BytesOf(directory_.path(), options);
  ASSERT_THAT(bytes, ElementsAre(32));
  std::vector<std::vector<std::int64_t>> memory(3, std::vector<std::int64_t>(4));
  std::vector<std::vector<std::span<std::byte>>> slots;
  for (auto& slot : memory) slots.push_back({std::as_writable_bytes(std::span(slot))});
  auto reader = BatchReader::Open(directory_.path(), options, slots);
  for (int step = 0; step < 5; ++step) {
    const auto* batch = reader.Next();
    EXPECT_EQ(memory[batch->slot], LabelsOf(*batch));
    EXPECT_EQ(static_cast<const void*>(batch->fields[0].values.data()), memory[batch->slot].data());
  }
  slots.pop_back();
  EXPECT_THAT(ErrorOf([&] { BatchReader::Open(directory_.path(), options, slots); }).message(),
              HasSubstr("prefetch 2 takes 3"));
  slots.push_back({slots[0][0].first(31)});
  EXPECT_THAT(ErrorOf([&] { BatchReader::Open(directory_.path(), options, slots); }).message(),
              HasSubstr("31 bytes, a batch takes 32"));
}

TEST_F(Batches, GiveWholeRecordsWithoutACopy) {
  BatchOptions options;
  options.payloads = true;
  options.batch = 5;
  options.order = RecordOrder::kInOrder;
  auto reader = Open(options);
  const auto* batch = reader.Next();
  EXPECT_TRUE(batch->fields.empty());
  ASSERT_EQ(batch->payloads.size(), 5u);
  EXPECT_EQ(TextOf(batch->payloads[3]), NumberedExample(3));
  const auto* first = batch->payloads[0].data();
  EXPECT_EQ(batch->payloads[1].data() - first, static_cast<std::ptrdiff_t>(NumberedExample(0).size() + 16));
}

TEST_F(Batches, SayHowLongTheCallerWaited) {
  auto options = LabelOptions(4);
  auto reader = Open(options);
  LabelsOfEpoch(reader);
  double shortest = 1;
  for (std::uint64_t more = 1; more <= 5; ++more) {  // on a busy machine one of them may be late
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const auto before = reader.stats();
    ASSERT_NE(reader.Next(), nullptr);  // was ready long ago
    EXPECT_EQ(reader.stats().batches, before.batches + 1);
    EXPECT_EQ(reader.stats().records, 20 + 4 * more);
    shortest = std::min(shortest, reader.stats().last_wait_s);
  }
  EXPECT_LT(shortest, 0.02);
  EXPECT_GE(reader.stats().wait_s, reader.stats().longest_wait_s);
}

TEST_F(Batches, NodesWithDifferentRecordsMakeEqualSteps) {
  const test::TempDirectory other;
  MakeGeneration(other.path(), {13}, WithIndex::kYes);
  auto options = LabelOptions(2);
  options.remainder = Remainder::kPad;
  options.shares = NodeShares{{{20, 2}, {13, 1}}, 0};
  std::vector<std::size_t> counts;
  for (options.rank = 0; options.rank < 2; ++options.rank) {
    auto reader = Open(options);
    counts.push_back(LabelsOfEpoch(reader).size());
  }
  options.rank = 0;
  options.shares->node = 1;
  auto reader = BatchReader::Open(other.path(), options);
  EXPECT_EQ(reader.steps_per_epoch(), 7u);
  EXPECT_EQ(reader.record_count(), 33u);
  reader.Next();
  EXPECT_EQ(reader.Position(), (EpochPosition{0, 6, SharesKey(options.shares->nodes)}));
  const auto left = LabelsOfEpoch(reader).size();
  EXPECT_THAT(counts, Each(left + 2));
  EXPECT_THAT(ErrorOf([&] { reader.Seek({0, 7}); }).message(), HasSubstr("must be the same"));
  options.shares->nodes[1].records = 12;
  EXPECT_THAT(ErrorOf([&] { BatchReader::Open(other.path(), options); }).message(),
              HasSubstr("holds 13 records, 'shares' says 12"));
}

TEST_F(Batches, RecordsAreNumberedNodeAfterNode) {
  auto options = LabelOptions(4);
  options.order = RecordOrder::kInOrder;
  options.remainder = Remainder::kPad;
  options.shares = NodeShares{{{30, 1}, {20, 1}}, 1};
  auto reader = Open(options);
  EXPECT_THAT(reader.Next()->records, ElementsAre(30, 31, 32, 33));
  EXPECT_EQ(reader.Describe(30), Open(LabelOptions(1)).Describe(0));
  EXPECT_THAT(ErrorOf([&] { reader.Describe(29); }).message(), HasSubstr("not on this node, which holds 30 to 49"));
}

TEST_F(Batches, TransformsOfTwoNodesDifferAlthoughTheirRecordsHaveTheSamePlaces) {
  auto options = LabelOptions(20);
  options.order = RecordOrder::kInOrder;
  options.fields = {{"image", {}, Shape{1, 6}, {Crop{{1, 1}, true, 0}}}};
  const auto crops = [&](std::size_t node) {
    options.shares = NodeShares{{{20, 1}, {20, 1}}, node};
    auto reader = Open(options);
    const auto values = reader.Next()->fields[0].values;
    return std::vector<std::byte>(values.begin(), values.end());
  };
  EXPECT_EQ(crops(0), crops(0));
  EXPECT_NE(crops(0), crops(1));
}

TEST_F(Batches, APositionInsideAnEpochHoldsForItsSharesOnly) {
  auto options = LabelOptions(2);
  options.shares = NodeShares{{{20, 1}, {20, 1}}, 0};
  auto reader = Open(options);
  reader.Next();
  const auto position = reader.Position();
  const auto rest = LabelsOfEpoch(reader);
  reader.Seek(position);
  EXPECT_EQ(LabelsOfEpoch(reader), rest);
  options.shares->nodes = {{20, 2}};  // a step of all is as large
  auto others = Open(options);
  EXPECT_THAT(ErrorOf([&] { others.Seek(position); }).message(), HasSubstr("nodes held other shares"));
  others.Seek({1, 0, position.shares});
  EXPECT_THAT(ErrorOf([&] { Open(LabelOptions(2)).Seek(position); }).message(), HasSubstr("nodes held other shares"));
}

TEST(BatchesOfFiles, CompressedFilesAreInflated) {
  const test::TempDirectory directory;
  std::uint64_t number = 0;
  for (const auto compression : {Compression::kGzip, Compression::kZlib}) {
    TfrecordWriter writer(directory / (compression == Compression::kGzip ? "a.tfrecord" : "b.tfrecord"), compression);
    for (int i = 0; i < 10; ++i) writer.Write(NumberedExample(number++));
    writer.Close();
  }
  for (const auto index : {WithIndex::kNo, WithIndex::kYes}) {
    auto options = LabelOptions(4);
    options.threads = 2;
    auto bare = BatchReader::Open(directory.path(), options);
    EXPECT_EQ(Sorted(LabelsOfEpoch(bare)), Numbers(20));
    DescribeGeneration(directory.path(), index);
    auto staged = BatchReader::Open(directory.path(), options);
    EXPECT_EQ(Sorted(LabelsOfEpoch(staged)), Numbers(20));
  }
}

TEST(BatchesOfFiles, ADirectoryWithoutManifestAndLinkedFilesAreReadAndNotMapped) {
  const test::TempDirectory directory;
  MakeNumberedFiles(directory.path(), {9, 11});
  const test::TempDirectory links;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
    std::filesystem::create_symlink(entry.path(), links / entry.path().filename());
  }
  DescribeGeneration(links.path(), WithIndex::kYes);
  for (const auto* path : {&directory.path(), &links.path()}) {
    auto reader = BatchReader::Open(*path, LabelOptions(4));
    EXPECT_EQ(Sorted(LabelsOfEpoch(reader)), Numbers(20));
    std::ifstream maps("/proc/self/maps");
    const std::string text((std::istreambuf_iterator<char>(maps)), {});
    EXPECT_THAT(text, testing::Not(HasSubstr(directory.path().string() + "/part-")));
  }
}

}  // namespace
}  // namespace slipway::staging
