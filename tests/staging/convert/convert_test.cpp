#include "staging/convert/convert.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "core/files.h"
#include "staging/formats/hdf5.h"
#include "staging/formats/idx.h"
#include "tests/staging/formats_support.h"
#include "tests/staging/records_support.h"
#include "tests/support/temp_directory.h"

namespace slipway::staging {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const fs::path kFashion = "/usr/share/datasets/fashion-mnist";

std::vector<std::string> NamesIn(const fs::path& directory) {
  std::vector<std::string> names;
  if (!fs::exists(directory)) return names;
  for (const auto& entry : fs::directory_iterator(directory)) names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

ConvertOptions OptionsFor(const IdxPair& source, const fs::path& destination, DataFormat to, int shards = 1) {
  return {source.images, source.labels, destination, to, shards, {}, {}, Compression::kNone};
}

/// Every record of `dataset` is the idx record of the same number.
void ExpectSame(const fs::path& dataset, const IdxArray& images, const IdxArray& labels) {
  EXPECT_TRUE(BytesIn(dataset, "image") == images.values);
  const auto read = IntsIn(dataset, "label");
  EXPECT_TRUE(
      std::ranges::equal(read, labels.values, {}, {}, [](std::byte label) { return std::to_integer<int>(label); }));
}

TEST(Convert, ShardsKeepTheRecordOrder) {
  const test::TempDirectory directory;
  const auto source = MakeIdxPair(directory.path(), 10);
  const auto result = Convert(OptionsFor(source, directory / "out" / "train", DataFormat::kTfrecord, 3));
  EXPECT_THAT(NamesIn(directory / "out"), ElementsAre("train-00000-of-00003.tfrecord", "train-00001-of-00003.tfrecord",
                                                      "train-00002-of-00003.tfrecord"));
  EXPECT_EQ(result.records, 10u);
  ExpectSame(directory / "out", ReadIdx(source.images), ReadIdx(source.labels));
}

TEST(Convert, WritesOneHdf5File) {
  const test::TempDirectory directory;
  const auto source = MakeIdxPair(directory.path(), 10);
  Convert(OptionsFor(source, directory / "out" / "test.h5", DataFormat::kHdf5));
  EXPECT_THAT(NamesIn(directory / "out"), ElementsAre("test.h5"));
  EXPECT_THAT(OpenHdf5(directory / "out" / "test.h5")->Datasets().at(0).shape, ElementsAre(10, 2, 3));
  ExpectSame(directory / "out" / "test.h5", ReadIdx(source.images), ReadIdx(source.labels));
}

TEST(Convert, ReadsTheRealFashionImages) {
  if (!fs::exists(kFashion)) GTEST_SKIP() << "the package dataset-fashion-mnist is not installed";
  const test::TempDirectory directory;
  const IdxPair source{kFashion / "t10k-images-idx3-ubyte.gz", kFashion / "t10k-labels-idx1-ubyte.gz"};
  Convert(OptionsFor(source, directory / "shards" / "test", DataFormat::kTfrecord, 4));
  Convert(OptionsFor(source, directory / "test", DataFormat::kHdf5));
  const auto images = ReadIdx(source.images);
  const auto labels = ReadIdx(source.labels);
  EXPECT_THAT(images.shape, ElementsAre(10000, 28, 28));
  ExpectSame(directory / "shards", images, labels);
  ExpectSame(directory / "test.h5", images, labels);
}

TEST(Convert, LeavesNothingBehindWhenItFails) {
  const test::TempDirectory directory;
  const auto source = MakeIdxPair(directory.path(), 10);
  auto options = OptionsFor(source, directory / "out" / "train", DataFormat::kTfrecord, 2);
  options.progress = [](std::uint64_t, std::uint64_t) { throw Error(ErrorKind::kInterrupted, "enough"); };
  EXPECT_EQ(ErrorOf([&] { Convert(options); }).kind(), ErrorKind::kInterrupted);
  EXPECT_THAT(NamesIn(directory / "out"), IsEmpty());
}

TEST(Convert, RefusesImagesAndLabelsThatDoNotBelongTogether) {
  const test::TempDirectory directory;
  const auto source = MakeIdxPair(directory.path(), 10);
  WriteFile(directory / "few", IdxBytes({3}, "abc"));
  const auto few = ErrorOf([&] {
    Convert(OptionsFor({source.images, directory / "few"}, directory / "out" / "a", DataFormat::kHdf5));
  });
  EXPECT_THAT(few.message(), HasSubstr("has 10 images"));
  const auto swapped = ErrorOf([&] {
    Convert(OptionsFor({source.labels, source.images}, directory / "out" / "a", DataFormat::kHdf5));
  });
  EXPECT_EQ(swapped.kind(), ErrorKind::kUsage);
  EXPECT_THAT(NamesIn(directory / "out"), IsEmpty());
}

TEST(Convert, RefusesImpossibleShardCounts) {
  const test::TempDirectory directory;
  const auto source = MakeIdxPair(directory.path(), 4);
  for (const int shards : {-1, 0, 5}) {
    const auto options = OptionsFor(source, directory / "out" / "a", DataFormat::kTfrecord, shards);
    EXPECT_EQ(ErrorOf([&] { Convert(options); }).kind(), ErrorKind::kUsage);
  }
}

TEST(Convert, RefusesToMixTwoSetsUnderOneName) {
  const test::TempDirectory directory;
  const auto source = MakeIdxPair(directory.path(), 10);
  const auto destination = directory / "out" / "train";
  Convert(OptionsFor(source, destination, DataFormat::kTfrecord, 2));
  const auto error = ErrorOf([&] { Convert(OptionsFor(source, destination, DataFormat::kTfrecord, 4)); });
  EXPECT_THAT(error.message(), HasSubstr("another number of shards"));
  EXPECT_NO_THROW(Convert(OptionsFor(source, destination, DataFormat::kTfrecord, 2)));  // the same set again
  EXPECT_NO_THROW(Convert(OptionsFor(source, directory / "out" / "train-small", DataFormat::kTfrecord, 4)));
}

TEST(Convert, ADirectoryAsDestinationGivesTheNameTrain) {
  const test::TempDirectory directory;
  const auto source = MakeIdxPair(directory.path(), 2);
  Convert(OptionsFor(source, directory / "new" / "", DataFormat::kTfrecord));
  EXPECT_THAT(NamesIn(directory / "new"), ElementsAre("train-00000-of-00001.tfrecord"));
}

}  // namespace
}  // namespace slipway::staging
