#include "staging/convert/reshard.h"

#include <gmock/gmock.h>

#include "core/files.h"
#include "staging/formats/tfrecord.h"
#include "tests/staging/formats_support.h"
#include "tests/support/few_descriptors.h"
#include "tests/support/temp_directory.h"

namespace slipway::staging {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Three files, one of them without records and one compressed: 7 records in all.
std::string MakeSource(const fs::path& directory) {
  fs::create_directories(directory);
  const auto first = MakeTfrecords(directory / "a.tfrecord", {"0", "one", ""});
  WriteFile(directory / "b.tfrecord", "");
  const auto last = TfrecordText({NoiseOf(10'000), "four", "five", "six"});
  WriteFile(directory / "c.tfrecord", Deflate(Compression::kGzip, last));
  return first + last;
}

std::string Joined(const std::vector<fs::path>& files) {
  std::string all;
  for (const auto& file : files) all += ReadFile(file);
  return all;
}

std::vector<std::uint64_t> Counts(const std::vector<fs::path>& files) {
  std::vector<std::uint64_t> counts;
  for (const auto& file : files) counts.push_back(TfrecordFile(file).record_count());
  return counts;
}

TEST(Reshard, KeepsEveryByteAndEvensTheCounts) {
  const test::TempDirectory directory;
  const auto all = MakeSource(directory / "in");
  for (int shards = 1; shards <= 7; ++shards) {
    const auto out = directory / ("out" + std::to_string(shards));
    const auto result = Reshard({directory / "in", out / "train", shards, {}});
    EXPECT_EQ(result.records, 7u);
    EXPECT_EQ(Joined(result.files), all) << shards;
    const auto counts = Counts(result.files);
    EXPECT_LE(*std::ranges::max_element(counts) - *std::ranges::min_element(counts), 1u);
  }
  EXPECT_THAT(Counts(Reshard({directory / "in", directory / "o" / "t", 3, {}}).files), ElementsAre(2, 2, 3));
}

TEST(Reshard, MoreFilesThanDescriptorsAreNoObstacle) {
  const test::TempDirectory directory;
  fs::create_directories(directory / "in");
  std::string all;
  for (int i = 100; i < 150; ++i) {
    all += MakeTfrecords(directory / "in" / (std::to_string(i) + ".tfrecord"), {std::to_string(i)});
  }
  const test::FewDescriptors few(10);
  EXPECT_EQ(Joined(Reshard({directory / "in", directory / "out" / "train", 3, {}}).files), all);
}

TEST(Reshard, LeavesNothingWhenARecordIsDamaged) {
  const test::TempDirectory directory;
  const auto whole = MakeTfrecords(directory / "a.tfrecord", {"zero", "one", "two"});
  WriteFile(directory / "a.tfrecord", WithBitFlipped(whole, (whole.size() - 5) * 8));
  const auto error = ErrorOf([&] { Reshard({directory / "a.tfrecord", directory / "out" / "t", 3, {}}); });
  EXPECT_THAT(error.message(), HasSubstr("a.tfrecord': record 2"));
  EXPECT_TRUE(fs::is_empty(directory / "out"));
}

TEST(Reshard, RefusesWhatItMustNotDo) {
  const test::TempDirectory directory;
  MakeTfrecords(directory / "t-00000-of-00001.tfrecord", {"zero", "one"});
  const auto source = directory / "t-00000-of-00001.tfrecord";
  const auto replaced = ErrorOf([&] { Reshard({source, directory / "t", 1, {}}); });
  EXPECT_THAT(replaced.message(), HasSubstr("is a file of the source"));
  EXPECT_THAT(ErrorOf([&] { Reshard({source, directory / "t", 2, {}}); }).message(), HasSubstr("another number"));
  EXPECT_EQ(ErrorOf([&] { Reshard({source, directory / "u", 3, {}}); }).kind(), ErrorKind::kUsage);
}

}  // namespace
}  // namespace slipway::staging
