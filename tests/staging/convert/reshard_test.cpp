#include "staging/convert/reshard.h"

#include <gmock/gmock.h>

#include "core/files.h"
#include "staging/formats/npy.h"
#include "staging/formats/table_file.h"
#include "staging/formats/tfrecord.h"
#include "tests/staging/formats_support.h"
#include "tests/staging/numpy_support.h"
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

TEST(Reshard, TakesPatternsAndNamesOfSets) {
  const test::TempDirectory directory;
  const auto all = MakeSource(directory / "in");
  const auto first = Reshard({directory / "in/*.tfrecord", directory / "out3" / "train", 3, {}});
  EXPECT_EQ(Joined(first.files), all);
  const auto second = Reshard({directory / "out3/train", directory / "out2" / "train", 2, {}});
  EXPECT_EQ(Joined(second.files), all);
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

std::string AllRows(const std::vector<fs::path>& files, std::size_t field) {
  std::string all;
  std::vector<std::byte> buffer;
  for (const auto& file : files) {
    const auto table = OpenNumpyTable(file);
    for (std::uint64_t i = 0; i < table->record_count(); ++i) all += TextOf(table->Value(i, field, buffer));
  }
  return all;
}

TEST(Reshard, KeepsRowsAndTypesOfNumpyArrays) {
  const test::TempDirectory directory;
  fs::create_directories(directory / "in");
  const auto archive = [&](std::string_view shape, std::string_view other, std::string_view values,
                           std::string_view truth, bool deflated) {
    return ZipText({{"values.npy", NpyText("<i2", shape, values)}, {"größe.npy", NpyText("|b1", other, truth)}},
                   deflated);
  };
  WriteFile(directory / "in/a.npz", archive("(3, 2)", "(3,)", "aabbccddeeff", std::string("\1\0\1", 3), true));
  WriteFile(directory / "in/b.npz", archive("(0, 2)", "(0,)", "", "", false));
  WriteFile(directory / "in/c.npz", archive("(2, 2)", "(2,)", "gghhiijj", std::string("\0\1", 2), false));
  for (int shards = 1; shards <= 5; ++shards) {
    const auto out = directory / ("out" + std::to_string(shards));
    const auto result = Reshard({directory / "in", out / "train", shards, {}});
    EXPECT_EQ(result.records, 5u);
    EXPECT_EQ(result.format, DataFormat::kNumpy);
    EXPECT_EQ(result.files[0].extension(), ".npz");
    EXPECT_EQ(AllRows(result.files, 0), "aabbccddeeffgghhiijj") << shards;
    EXPECT_EQ(AllRows(result.files, 1), std::string("\1\0\1\0\1", 5)) << shards;
  }
  const NpyFile file(directory / "out5/train-00004-of-00005.npz");
  EXPECT_EQ(file.arrays()[1].name, "größe");
  EXPECT_EQ(file.arrays()[1].kind, 'b') << "truth values stay some";
  const auto by_name = Reshard({directory / "out5/train", directory / "by-name" / "train", 2, {}});
  EXPECT_EQ(AllRows(by_name.files, 0), "aabbccddeeffgghhiijj");
  ConvertOptions rows;
  rows.sources = {directory / "out5/train.npz"};
  rows.destination = directory / "rows" / "train";
  Convert(rows);
  EXPECT_EQ(TfrecordFile(directory / "rows/train-00000-of-00001.tfrecord").record_count(), 5u);
  const auto again = Reshard({directory / "out5", directory / "again" / "train", 2, {}});
  for (const auto& path : again.files) {
    EXPECT_EQ(ReadFile(path), ReadFile(directory / "out2" / path.filename())) << "the same records give the same bytes";
  }
}

TEST(Reshard, CutsSingleArraysIntoSingleArrays) {
  const test::TempDirectory directory;
  fs::create_directories(directory / "in");
  WriteFile(directory / "in/a.npy", NpyText(">u2", "(2, 1)", std::string("\0\1\0\2", 4)));
  WriteFile(directory / "in/b.npy", NpyText("<u2", "(3, 1)", std::string("\3\0\4\0\5\0", 6)));
  const auto result = Reshard({directory / "in", directory / "out" / "train", 2, {}});
  EXPECT_THAT(result.files,
              ElementsAre(directory / "out/train-00000-of-00002.npy", directory / "out/train-00001-of-00002.npy"));
  EXPECT_EQ(AllRows(result.files, 0), std::string("\1\0\2\0\3\0\4\0\5\0", 10));
  const auto text = ReadFile(result.files[0]);
  EXPECT_THAT(text, HasSubstr("{'descr': '<u2', 'fortran_order': False, 'shape': (2, 1), }"));
  EXPECT_EQ((text.size() - 4) % 64, 0u) << "mapped values are aligned";
}

TEST(Reshard, LeavesNothingOfNumpyFilesThatAreDamagedOrOfOtherFields) {
  const test::TempDirectory directory;
  fs::create_directories(directory / "in");
  const auto array = NpyText("<u2", "(2,)", "abcd");
  WriteFile(directory / "in/a.npz", ZipText({{"x.npy", array}}, false));
  auto damaged = ZipText({{"x.npy", array}}, false);
  damaged[damaged.find("abcd")] = 'A';
  WriteFile(directory / "in/b.npz", damaged);
  const auto refusal = [&] {
    return ErrorOf([&] { Reshard({directory / "in", directory / "out/t", 2, {}}); }).message();
  };
  EXPECT_THAT(refusal(), HasSubstr("b.npz:x.npy' is damaged: its CRC32 is wrong"));
  WriteFile(directory / "in/b.npz", ZipText({{"y.npy", array}}, false));
  EXPECT_THAT(refusal(), HasSubstr("b.npz' has the fields 'y'"));
  EXPECT_FALSE(fs::exists(directory / "out"));
}

TEST(Reshard, ImagesBecomeTarShards) {
  const test::TempDirectory directory;
  for (const auto* name : {"in/ant/a.png", "in/ant/b.png", "in/bee/c.png"}) {
    fs::create_directories((directory / name).parent_path());
    WriteFile(directory / name, PngText(1, 2));
  }
  const auto result = Reshard({directory / "in", directory / "out/train", 3, {}});
  EXPECT_EQ(result.format, DataFormat::kWebdataset);
  EXPECT_EQ(result.files.size(), 3u);
  EXPECT_EQ(OpenWebdataset({result.files[2]})->record_count(), 1u);
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
