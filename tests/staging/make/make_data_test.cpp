#include "staging/make/make_data.h"

#include <gmock/gmock.h>

#include <array>
#include <set>

#include "core/files.h"
#include "launcher/cli/commands/data.h"
#include "staging/reader/reader.h"
#include "tests/staging/formats_support.h"
#include "tests/support/kept_output.h"
#include "tests/support/temp_directory.h"

namespace slipway::staging {
namespace {
namespace fs = std::filesystem;
using ::testing::HasSubstr;

MakeOptions Options(MadeData kind, const fs::path& directory) {
  MakeOptions options;
  options.kind = kind;
  options.directory = directory;
  options.train_records = 7;
  options.test_records = 2;
  options.size = 16;
  options.classes = 12;
  options.box = 256;
  options.shards = 3;
  options.threads = 2;
  return options;
}

std::vector<std::string> MadeNamesIn(const fs::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

Dataset OpenSet(const fs::path& directory, const std::string& set) {
  std::vector<fs::path> files;
  for (const auto& name : MadeNamesIn(directory)) {
    if (name.starts_with(set)) files.push_back(directory / name);
  }
  return Dataset::OpenFiles(files);
}

std::vector<float> FloatsOf(const Dataset& dataset, const std::string& field, std::size_t count) {
  std::vector<float> values(dataset.record_count() * count);
  for (std::uint64_t i = 0; i < dataset.record_count(); ++i) {
    dataset.ReadFloats(i, field, std::span(values).subspan(i * count, count));
  }
  return values;
}

TEST(MakeData, WritesBothSetsInTheFormatsThatTheReaderReads) {
  for (const auto format : {DataFormat::kHdf5, DataFormat::kTfrecord}) {
    const test::TempDirectory directory;
    auto options = Options(MadeData::kHepcnn, directory.path());
    options.format = format;
    const auto result = MakeData(options);
    EXPECT_EQ(result.records, 9u);
    EXPECT_EQ(result.files.size(), 5u);
    EXPECT_EQ(MadeNamesIn(directory.path()).size(), 5u);
    const auto train = OpenSet(directory.path(), "train");
    EXPECT_EQ(train.record_count(), 7u);
    EXPECT_EQ(train.Field("image").count, 3u * 16 * 16);
    EXPECT_EQ(OpenSet(directory.path(), "test").record_count(), 2u);
    for (std::uint64_t i = 0; i < 7; ++i) EXPECT_THAT(train.ReadInt(i, "label"), testing::AnyOf(0, 1));
  }
}

TEST(MakeData, TheSameRecordsInAnotherNumberOfFilesAndAnotherFormat) {
  const test::TempDirectory directory;
  auto options = Options(MadeData::kCosmoflow, directory / "three");
  MakeData(options);
  options.directory = directory / "one";
  options.shards = 1;
  options.format = DataFormat::kHdf5;
  options.train_records = 5;
  MakeData(options);
  const auto three = FloatsOf(OpenSet(directory / "three", "train"), "volume", 16 * 16 * 16);
  const auto one = FloatsOf(OpenSet(directory / "one", "train"), "volume", 16 * 16 * 16);
  ASSERT_LT(one.size(), three.size());
  EXPECT_TRUE(std::equal(one.begin(), one.end(), three.begin()));
}

TEST(MakeData, NoRecordOfTheTestSetIsOneOfTheTrainingSetAndASeedChangesAll) {
  const test::TempDirectory directory;
  auto options = Options(MadeData::kCosmoflow, directory / "one");
  MakeData(options);
  options.seed = 2;
  options.directory = directory / "two";
  MakeData(options);
  std::set<float> first_values;
  for (const auto* set : {"one", "two"}) {
    for (const auto* part : {"train", "test"}) {
      const auto parameters = FloatsOf(OpenSet(directory / set, part), "parameters", 3);
      for (std::size_t i = 0; i < parameters.size(); i += 3) first_values.insert(parameters[i]);
    }
  }
  EXPECT_EQ(first_values.size(), 18u);
}

TEST(MakeData, ParametersLieInTheirRangesAndTargetsBetweenMinusOneAndOne) {
  const test::TempDirectory directory;
  MakeData(Options(MadeData::kCosmoflow, directory.path()));
  const auto train = OpenSet(directory.path(), "train");
  const auto parameters = FloatsOf(train, "parameters", 3);
  const auto targets = FloatsOf(train, "target", 3);
  constexpr std::array<std::array<float, 2>, 3> kRanges = {{{0.25F, 0.35F}, {0.78F, 0.95F}, {0.9F, 1.0F}}};
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto [low, high] = kRanges[i % 3];
    EXPECT_NEAR(parameters[i], low + (high - low) * (targets[i] + 1) / 2, 1e-5);
    EXPECT_LE(std::abs(targets[i]), 1);
  }
}

TEST(MakeData, PicturesAreRecordsLikeThoseOfImageNet) {
  const test::TempDirectory directory;
  MakeData(Options(MadeData::kImagenetLike, directory.path()));
  const auto train = OpenSet(directory.path(), "train");
  for (std::uint64_t i = 0; i < train.record_count(); ++i) {
    const auto example = train.ReadExample(i);
    EXPECT_THAT(example.Find("image/encoded")->FirstBytes(), testing::StartsWith("\xff\xd8\xff"));
    EXPECT_FALSE(example.Find("image/class/text")->FirstBytes().empty());
    const auto label = train.ReadInt(i, "image/class/label");
    EXPECT_GE(label, 1);
    EXPECT_LE(label, 12);
  }
}

TEST(MakeData, RefusesWhatCannotBeMade) {
  const test::TempDirectory directory;
  auto options = Options(MadeData::kImagenetLike, directory.path());
  options.format = DataFormat::kHdf5;
  EXPECT_THAT(ErrorOf([&] { MakeData(options); }).message(), HasSubstr("different lengths"));
  options = Options(MadeData::kImagenetLike, directory.path());
  options.classes = 41;
  EXPECT_THAT(ErrorOf([&] { MakeData(options); }).message(), HasSubstr("classes 41 is out of range: expected 2 to 40"));
  options = Options(MadeData::kCosmoflow, directory.path());
  options.size = 1024;
  EXPECT_THAT(ErrorOf([&] { MakeData(options); }).message(), HasSubstr("size 1024 is out of range: expected 8 to 512"));
  options = Options(MadeData::kHepcnn, directory.path());
  options.shards = 8;
  EXPECT_THAT(ErrorOf([&] { MakeData(options); }).message(), HasSubstr("cannot make 8 shards of 7 records"));
  EXPECT_TRUE(MadeNamesIn(directory.path()).empty());
}

TEST(MakeData, RefusesToMixTwoSets) {
  const test::TempDirectory directory;
  auto options = Options(MadeData::kHepcnn, directory.path());
  options.format = DataFormat::kHdf5;
  MakeData(options);
  options.shards = 2;
  EXPECT_THAT(ErrorOf([&] { MakeData(options); }).message(), HasSubstr("another number of shards"));
  EXPECT_EQ(MadeNamesIn(directory.path()).size(), 5u);
}

TEST(MakeData, LeavesNothingWhenItIsStopped) {
  const test::TempDirectory directory;
  auto options = Options(MadeData::kHepcnn, directory.path());
  options.progress = [](std::uint64_t done, std::uint64_t) {
    if (done > 2) throw Error(ErrorKind::kInterrupted, "stopped");
  };
  EXPECT_THAT(ErrorOf([&] { MakeData(options); }).message(), HasSubstr("stopped"));
  EXPECT_TRUE(MadeNamesIn(directory.path()).empty());
}

TEST(DataMake, ListsTheFilesAndTakesTheUsualFormatOfAKind) {
  const test::TempDirectory directory;
  test::KeptOutput output;
  launcher::DataMakeOptions options{"hepcnn", directory.path(), "", 4, 1, 8};
  EXPECT_EQ(launcher::DataMake(options, output), 0);
  EXPECT_EQ(output.document["schema"], "slipway.data_make/1");
  EXPECT_EQ(output.document["format"], "hdf5");
  EXPECT_EQ(output.document["records"], 5);
  EXPECT_THAT(output.text, HasSubstr("train-00003-of-00004.h5\n"));
  EXPECT_THAT(output.text, HasSubstr("5 records, "));
}

TEST(DataMake, RefusesOptionsThatItsKindDoesNotHave) {
  const test::TempDirectory directory;
  test::KeptOutput output;
  launcher::DataMakeOptions options{"hepcnn", directory.path()};
  options.classes = 4;
  EXPECT_THAT(ErrorOf([&] { launcher::DataMake(options, output); }).message(),
              HasSubstr("--classes is an option of imagenet-like alone"));
  options.classes.reset();
  options.box = 128;
  EXPECT_THAT(ErrorOf([&] { launcher::DataMake(options, output); }).message(),
              HasSubstr("--box is an option of cosmoflow alone"));
  EXPECT_TRUE(MadeNamesIn(directory.path()).empty());
}

}  // namespace
}  // namespace slipway::staging
