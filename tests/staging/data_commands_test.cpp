#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "core/files.h"
#include "launcher/cli/commands/data.h"
#include "staging/dataset/record_index.h"
#include "staging/formats/hdf5.h"
#include "tests/staging/formats_support.h"
#include "tests/staging/hdf5_support.h"
#include "tests/support/kept_output.h"
#include "tests/support/temp_directory.h"

namespace slipway::launcher {
namespace {

using staging::ErrorOf;
using staging::ImageExample;
using staging::MakeIdxPair;
using staging::MakeTfrecords;
using staging::WithBitFlipped;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(DataInfo, ShowsFormatSizeRecordsAndFields) {
  const test::TempDirectory directory;
  const auto bytes = MakeTfrecords(directory / "a.tfrecord", {ImageExample(784, 1), ImageExample(784, 2)});
  test::KeptOutput output;
  EXPECT_EQ(DataInfo({{directory.path()}}, output), 0);
  EXPECT_EQ(output.document["schema"], "slipway.data_info/1");
  const auto& file = output.document["files"][0];
  EXPECT_EQ(file["format"], "tfrecord");
  EXPECT_EQ(file["bytes"], bytes.size());
  EXPECT_EQ(file["records"], 2);
  EXPECT_EQ(file["fields"][0]["name"], "image");
  EXPECT_EQ(file["fields"][0]["kind"], "bytes");
  EXPECT_EQ(file["fields"][0]["count"], 784);
  EXPECT_THAT(output.text, HasSubstr("image: bytes 784, label: int64 1"));
}

TEST(DataInfo, ShowsTheShapesOfHdf5) {
  const test::TempDirectory directory;
  const auto source = MakeIdxPair(directory.path(), 5);
  test::KeptOutput output;
  EXPECT_EQ(DataConvert({source.images, source.labels, directory / "test.h5", "hdf5", 1}, output), 0);
  EXPECT_EQ(DataInfo({{directory / "test.h5"}}, output), 0);
  EXPECT_THAT(output.text, HasSubstr("image: bytes 2x3"));
}

TEST(DataVerify, IsContentWithWholeFiles) {
  const test::TempDirectory directory;
  const auto source = MakeIdxPair(directory.path(), 5);
  test::KeptOutput output;
  DataConvert({source.images, source.labels, directory / "test.h5", "hdf5", 1}, output);
  DataConvert({source.images, source.labels, directory / "shards" / "train", "tfrecord", 2}, output);
  EXPECT_EQ(DataVerify({{directory / "shards", directory / "test.h5"}}, output), 0);
  EXPECT_EQ(output.document["schema"], "slipway.data_verify/1");
  EXPECT_EQ(output.document["ok"], true);
  EXPECT_EQ(output.document["files"].size(), 3u);
  EXPECT_EQ(output.document["files"][2]["records"], 5);
}

TEST(DataVerify, ReportsEveryBadFile) {
  const test::TempDirectory directory;
  const auto whole = MakeTfrecords(directory / "good.tfrecord", {ImageExample(50, 1), ImageExample(50, 2)});
  WriteFile(directory / "flipped.tfrecord", WithBitFlipped(whole, (whole.size() - 9) * 8));
  WriteFile(directory / "torn.tfrecord", whole.substr(0, whole.size() - 1));
  test::KeptOutput output;
  EXPECT_EQ(DataVerify({{directory.path(), directory / "missing.tfrecord"}}, output), 1);
  EXPECT_EQ(output.document["ok"], false);
  EXPECT_THAT(output.text, AllOf(HasSubstr("flipped.tfrecord': record 1"), HasSubstr("torn.tfrecord': record 1"),
                                 HasSubstr("missing.tfrecord")));
  EXPECT_THAT(output.brief, Not(HasSubstr("good.tfrecord")));
}

TEST(DataVerify, ReportsADamagedFirstHeader) {
  const test::TempDirectory directory;
  const auto whole = MakeTfrecords(directory / "a.tfrecord", {"one"});
  WriteFile(directory / "a.tfrecord", WithBitFlipped(whole, 0));
  test::KeptOutput output;
  EXPECT_EQ(DataVerify({{directory / "a.tfrecord"}}, output), 1);
  EXPECT_THAT(output.text, HasSubstr("of the record's length"));
}

TEST(DataVerify, WarnsOfFilesWithoutRecords) {
  const test::TempDirectory directory;
  WriteFile(directory / "a.tfrecord", "");
  test::KeptOutput output;
  EXPECT_EQ(DataVerify({{directory / "a.tfrecord"}}, output), 0);
  EXPECT_THAT(output.warnings, HasSubstr("has no records"));
}

TEST(DataConvert, ListsTheNewFiles) {
  const test::TempDirectory directory;
  const auto source = MakeIdxPair(directory.path(), 5);
  test::KeptOutput output;
  EXPECT_EQ(DataConvert({source.images, source.labels, directory / "out" / "train", "tfrecord", 2}, output), 0);
  EXPECT_EQ(output.document["schema"], "slipway.data_convert/1");
  EXPECT_EQ(output.document["records"], 5);
  EXPECT_EQ(output.document["files"].size(), 2u);
  EXPECT_THAT(output.text, HasSubstr("train-00001-of-00002.tfrecord"));
}

TEST(DataInfo, ShowsHowTheValuesAreStored) {
  const test::TempDirectory directory;
  staging::MakeChunkedHdf5(directory / "a.h5", {.shuffle = true, .deflate = true});
  WriteFile(directory / "b.tfrecord",
            staging::Deflate(staging::Compression::kZlib, staging::TfrecordText({ImageExample(9, 1)})));
  test::KeptOutput output;
  EXPECT_EQ(DataInfo({{directory / "a.h5", directory / "b.tfrecord"}}, output), 0);
  EXPECT_THAT(output.text, HasSubstr("values: int16 chunked 2x4, shuffle, deflate"));
  EXPECT_EQ(output.document["files"][0]["layout"][0]["chunks"], 3);
  EXPECT_EQ(output.document["files"][1]["compression"], "zlib");
}

TEST(DataVerify, NamesTheChunkOfHdf5) {
  const test::TempDirectory directory;
  staging::MakeChunkedHdf5(directory / "a.h5", {.fletcher32 = true});
  const auto offset = staging::OpenHdf5(directory / "a.h5")->Layout("values").chunks.at(2).offset.value();
  WriteFile(directory / "a.h5", WithBitFlipped(ReadFile(directory / "a.h5"), offset * 8));
  test::KeptOutput output;
  EXPECT_EQ(DataVerify({{directory / "a.h5"}}, output), 1);
  EXPECT_THAT(output.text, HasSubstr("chunk at [4, 0] of the dataset 'values'"));
}

TEST(DataConvert, TakesOtherSourcesAndCompresses) {
  const test::TempDirectory directory;
  staging::MakeChunkedHdf5(directory / "a.h5", {});
  test::KeptOutput output;
  DataConvertOptions options{{}, {}, directory / "out" / "train", "tfrecord", 2, {directory / "a.h5"}, "gzip"};
  EXPECT_EQ(DataConvert(options, output), 0);
  EXPECT_EQ(output.document["records"], 5);
  EXPECT_EQ(DataVerify({{directory / "out"}}, output), 0);
}

TEST(DataReshard, ListsTheNewFiles) {
  const test::TempDirectory directory;
  MakeTfrecords(directory / "a.tfrecord", {"one", "two", "three"});
  test::KeptOutput output;
  EXPECT_EQ(DataReshard({directory / "a.tfrecord", directory / "out" / "t", 2}, output), 0);
  EXPECT_EQ(output.document["schema"], "slipway.data_reshard/1");
  EXPECT_EQ(output.document["files"].size(), 2u);
}

TEST(DataStats, ShowsNumbersLengthsAndClasses) {
  const test::TempDirectory directory;
  MakeTfrecords(directory / "a.tfrecord", {ImageExample(10, 1), ImageExample(20, 7), ImageExample(30, 7)});
  test::KeptOutput output;
  EXPECT_EQ(DataStats({directory / "a.tfrecord"}, output), 0);
  EXPECT_EQ(output.document["schema"], "slipway.data_stats/1");
  EXPECT_EQ(output.document["fields"][0]["lengths"]["mean"], 20);
  EXPECT_EQ(output.document["fields"][1]["classes"][1]["count"], 2);
  EXPECT_THAT(output.text, AllOf(HasSubstr("10 / 20.0 / 30"), HasSubstr("label:  1 x 1  7 x 2")));
}

TEST(DataIndex, IsWrittenAndComparedLater) {
  const test::TempDirectory directory;
  const auto record = ImageExample(30, 2);
  MakeTfrecords(directory / "a.tfrecord", {ImageExample(3, 1), ImageExample(3, 1), record});
  test::KeptOutput output;
  EXPECT_EQ(DataIndex({directory.path(), false}, output), 0);
  EXPECT_EQ(output.document["stored"], "none");
  EXPECT_EQ(output.document["files"][0]["largest_record"], record.size() + 16);
  EXPECT_EQ(DataIndex({directory.path(), true}, output), 0);
  EXPECT_EQ(output.document["stored"], "same");
  const auto index = staging::DecodeRecordIndices(ReadFile(directory / staging::kRecordIndexName));
  EXPECT_EQ(index.at(0).offsets.size(), 3u);
  EXPECT_EQ(DataInfo({{directory.path() / "a.tfrecord"}}, output), 0);
  EXPECT_EQ(output.document["files"][0]["index"], true);
  MakeTfrecords(directory / "a.tfrecord", {"others"});
  EXPECT_EQ(DataIndex({directory.path(), false}, output), 1);
  EXPECT_EQ(output.document["stored"], "other");
}

TEST(DataCommands, RefuseWhatTheyCannotDo) {
  test::KeptOutput output;
  EXPECT_EQ(ErrorOf([&] { DataInfo({}, output); }).kind(), ErrorKind::kUsage);
  EXPECT_EQ(ErrorOf([&] { DataVerify({}, output); }).kind(), ErrorKind::kUsage);
  EXPECT_EQ(ErrorOf([&] { DataConvert({"a", "b", "c", "parquet", 1}, output); }).kind(), ErrorKind::kUsage);
  EXPECT_EQ(ErrorOf([&] { DataInfo({{"/nowhere/at/all"}}, output); }).kind(), ErrorKind::kEnvironment);
}

/// Sends SIGTERM to its process as soon as there is progress.
class EndingOutput final : public test::KeptOutput {
 public:
  void Progress(std::string_view) override { ::kill(::getpid(), SIGTERM); }
};

TEST(DataCommands, LeaveNothingWhenASignalEndsThem) {
  const test::TempDirectory directory;
  MakeTfrecords(directory / "a.tfrecord", {ImageExample(50, 1), ImageExample(50, 2), ImageExample(50, 3)});
  const auto source = directory / "a.tfrecord";
  const auto target = directory / "new";
  DataConvertOptions convert;
  convert.sources = {source};
  convert.destination = target / "train";
  convert.to = "webdataset";
  convert.shards = 2;
  const std::vector<std::function<void(Output&)>> commands = {
      [&](Output& output) { DataConvert(convert, output); },
      [&](Output& output) {
        DataReshard({source, target / "train", 2}, output);
      },
      [&](Output& output) {
        DataMake({"imagenet-like", target, "", 9, 0, 8}, output);
      },
  };
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const auto child = ::fork();
    if (child == 0) {
      EndingOutput output;
      try {
        commands[i](output);
      } catch (const Error&) {
      }
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << i;
    EXPECT_EQ(WTERMSIG(status), SIGTERM) << i;
    EXPECT_TRUE(std::filesystem::is_empty(target)) << i;
  }
}

}  // namespace
}  // namespace slipway::launcher
