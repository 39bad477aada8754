#include "staging/dataset/statistics.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

#include "staging/formats/example.h"
#include "staging/formats/hdf5.h"
#include "tests/staging/formats_support.h"
#include "tests/staging/hdf5_support.h"
#include "tests/support/temp_directory.h"

namespace slipway::staging {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

DatasetStatistics Of(const std::filesystem::path& path) {
  return StatisticsOf(FindDatasetFiles(path), [](std::uint64_t) {});
}

TEST(Statistics, TellEveryFieldOfTfrecords) {
  const test::TempDirectory directory;
  std::vector<std::string> records;
  for (const int label : {3, 5, 3, 3}) {
    const std::vector<float> weights = {static_cast<float>(label), 0};
    records.push_back(ExampleBuilder()
                          .AddBytes("image", std::string(static_cast<std::size_t>(label), '\x02'))
                          .AddInt("label", label)
                          .AddFloats("weights", weights)
                          .Finish());
  }
  records.push_back(ExampleBuilder().AddInt("label", 5).Finish());
  MakeTfrecords(directory / "a.tfrecord", records);
  const auto statistics = Of(directory.path());
  EXPECT_EQ(statistics.records, 5u);
  ASSERT_EQ(statistics.fields.size(), 3u);
  const auto& image = statistics.fields[0];
  EXPECT_EQ(image.records, 4u);
  EXPECT_EQ(image.lengths.mean(), 3.5);
  EXPECT_EQ(image.lengths.max(), 5);
  EXPECT_EQ(image.values.mean(), 2);
  EXPECT_EQ(image.values.deviation(), 0);
  const auto& label = statistics.fields[1];
  EXPECT_THAT(label.classes.value(), ElementsAre(Pair(3, 3), Pair(5, 2)));
  EXPECT_DOUBLE_EQ(label.values.mean(), 3.8);
  EXPECT_NEAR(label.values.deviation(), std::sqrt(0.96), 1e-12);
  EXPECT_EQ(statistics.fields[2].values.count(), 8u);
  EXPECT_FALSE(statistics.fields[2].classes);
}

TEST(Statistics, TellEveryDatasetOfHdf5) {
  const test::TempDirectory directory;
  MakeChunkedHdf5(directory / "a.h5", {});
  const auto statistics = Of(directory / "a.h5");
  ASSERT_EQ(statistics.fields.size(), 1u);
  EXPECT_EQ(statistics.fields[0].kind, "int16");
  EXPECT_EQ(statistics.fields[0].records, 5u);
  EXPECT_EQ(statistics.fields[0].values.max(), 19);
  EXPECT_DOUBLE_EQ(statistics.fields[0].values.mean(), 9.5);
}

TEST(Statistics, DoNotCountRowsWithoutValues) {
  const test::TempDirectory directory;
  const auto file = CreateHdf5(directory / "a.h5");
  file->CreateDataset({"none", NumberType::kUint8, {1ULL << 60, 0}});
  file->Close();
  const auto statistics = Of(directory / "a.h5");
  EXPECT_EQ(statistics.fields.at(0).values.count(), 0u);
}

TEST(Statistics, CountNoRecordsWhereDatasetsHaveDifferentNumbersOfRows) {
  const test::TempDirectory directory;
  const auto make = [&](const char* name, std::uint64_t rows) {
    const auto file = CreateHdf5(directory / name);
    file->CreateDataset({"lat", NumberType::kFloat32, {7}});
    file->CreateDataset({"x", NumberType::kFloat32, {rows, 3}});
    file->Close();
  };
  make("a.h5", 7);
  EXPECT_EQ(Of(directory.path()).records, 7u);
  make("b.h5", 4);
  const auto statistics = Of(directory.path());
  EXPECT_EQ(statistics.records, std::nullopt);
  EXPECT_THAT(statistics.uneven, ElementsAre(directory / "b.h5"));
  EXPECT_EQ(statistics.fields.at(0).records, 14u);
  EXPECT_EQ(statistics.fields.at(1).records, 11u);
}

TEST(Statistics, NameTheRecordThatIsNoExample) {
  const test::TempDirectory directory;
  MakeTfrecords(directory / "a.tfrecord", {ImageExample(3, 1), "\xff\xff"});
  EXPECT_THAT(ErrorOf([&] { Of(directory / "a.tfrecord"); }).what(), HasSubstr("a.tfrecord': record 1"));
}

RC_GTEST_PROP(Moments, OfPartsAreThoseOfTheWhole, (const std::vector<int>& numbers)) {
  const auto cut = *rc::gen::inRange<std::size_t>(0, numbers.size() + 1);
  Moments whole, first, second;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double value = numbers[i] % 1000;
    whole.Add(value);
    (i < cut ? first : second).Add(value);
  }
  first.Add(second);
  RC_ASSERT(first.count() == whole.count());
  RC_ASSERT(first.min() == whole.min());
  RC_ASSERT(first.max() == whole.max());
  RC_ASSERT(std::abs(first.mean() - whole.mean()) < 1e-9);
  RC_ASSERT(std::abs(first.deviation() - whole.deviation()) < 1e-9);
}

TEST(Moments, CountNumbersThatAreNoneApart) {
  Moments moments;
  for (const double value : {1.0, std::nan(""), 3.0, std::numeric_limits<double>::infinity()}) moments.Add(value);
  EXPECT_EQ(moments.count(), 2u);
  EXPECT_EQ(moments.not_finite(), 2u);
  EXPECT_EQ(moments.mean(), 2);
}

}  // namespace
}  // namespace slipway::staging
