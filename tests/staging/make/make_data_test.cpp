#include "staging/make/make_data.h"

#include <gmock/gmock.h>

#include <array>
#include <set>

#include "core/files.h"
#include "launcher/cli/commands/data.h"
#include "tests/staging/formats_support.h"
#include "tests/staging/records_support.h"
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

/// The files of one set in a folder of their own, which is a dataset.
class SetFolder {
 public:
  SetFolder(const fs::path& directory, const std::string& set) {
    for (const auto& name : MadeNamesIn(directory)) {
      if (name.starts_with(set)) fs::copy_file(directory / name, folder_ / name);
    }
  }

  const fs::path& path() const { return folder_.path(); }

 private:
  test::TempDirectory folder_;
};

std::vector<float> FloatsOfSet(const fs::path& directory, const std::string& set, const std::string& field) {
  return FloatsIn(SetFolder(directory, set).path(), field);
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
    EXPECT_EQ(FloatsOfSet(directory.path(), "train", "image").size(), 7u * 3 * 16 * 16);
    EXPECT_EQ(FloatsOfSet(directory.path(), "test", "image").size(), 2u * 3 * 16 * 16);
    const auto labels = IntsIn(SetFolder(directory.path(), "train").path(), "label");
    EXPECT_EQ(labels.size(), 7u);
    EXPECT_THAT(labels, testing::Each(testing::AnyOf(0, 1)));
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
  const auto three = FloatsOfSet(directory / "three", "train", "volume");
  const auto one = FloatsOfSet(directory / "one", "train", "volume");
  ASSERT_EQ(one.size(), 5u * 16 * 16 * 16);
  ASSERT_EQ(three.size(), 7u * 16 * 16 * 16);
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
      const auto parameters = FloatsOfSet(directory / set, part, "parameters");
      for (std::size_t i = 0; i < parameters.size(); i += 3) first_values.insert(parameters[i]);
    }
  }
  EXPECT_EQ(first_values.size(), 18u);
}

TEST(MakeData, ParametersLieInTheirRangesAndTargetsBetweenMinusOneAndOne) {
  const test::TempDirectory directory;
  MakeData(Options(MadeData::kCosmoflow, directory.path()));
  const auto parameters = FloatsOfSet(directory.path(), "train", "parameters");
  const auto targets = FloatsOfSet(directory.path(), "train", "target");
  ASSERT_EQ(parameters.size(), 7u * 3);
  ASSERT_EQ(targets.size(), parameters.size());
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
  const SetFolder train(directory.path(), "train");
  const auto pictures = TextsIn(train.path(), "image/encoded");
  EXPECT_EQ(pictures.size(), 7u);
  EXPECT_THAT(pictures, testing::Each(testing::StartsWith("\xff\xd8\xff")));
  EXPECT_THAT(TextsIn(train.path(), "image/class/text"), testing::Each(testing::Not(testing::IsEmpty())));
  EXPECT_THAT(IntsIn(train.path(), "image/class/label"),
              testing::Each(testing::AllOf(testing::Ge(1), testing::Le(12))));
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
