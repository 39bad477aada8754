#include "staging/reader/reader.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "staging/convert/convert.h"
#include "staging/formats/hdf5.h"
#include "tests/staging/formats_support.h"
#include "tests/staging/hdf5_support.h"
#include "tests/support/temp_directory.h"

namespace slipway::staging {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::int64_t> LabelsOf(const Dataset& dataset, const RecordNumbers& records) {
  std::vector<std::int64_t> labels(records.size());
  dataset.ReadInts(records, "label", labels);
  return labels;
}

/// Two shards of three Examples each, labels 0 to 5.
void MakeShards(const std::filesystem::path& directory) {
  MakeTfrecords(directory / "b.tfrecord", {ImageExample(4, 3), ImageExample(4, 4), ImageExample(4, 5)});
  MakeTfrecords(directory / "a.tfrecord", {ImageExample(4, 0), ImageExample(4, 1), ImageExample(4, 2)});
}

void WriteManifest(const std::filesystem::path& directory, const std::string& files) {
  auto entries = Json::parse(files);
  for (auto& entry : entries) {
    std::error_code missing;
    const auto bytes = std::filesystem::file_size(directory / entry["path"].get<std::string>(), missing);
    const Json whole = {{"bytes", missing ? 0 : bytes}, {"source", "s"},     {"mtime_ns", 0}, {"inode", 0},
                        {"crc32c", Json::array()},      {"records", nullptr}};
    for (const auto& [key, value] : whole.items()) {
      if (!entry.contains(key)) entry[key] = value;
    }
  }
  const Json manifest = {{"schema", "slipway.manifest/1"},
                         {"name", "train"},
                         {"format", "tfrecord"},
                         {"verify", "format"},
                         {"created", "now"},
                         {"generation", "train-0"},
                         {"files", entries}};
  WriteFile(directory / "manifest.json", manifest.dump());
}

TEST(Reader, CountsRecordsOverTheFilesInTheOrderOfTheirNames) {
  const test::TempDirectory directory;
  MakeShards(directory.path());
  const auto dataset = Dataset::Open(directory.path());
  EXPECT_EQ(dataset.format(), DataFormat::kTfrecord);
  EXPECT_EQ(dataset.record_count(), 6u);
  EXPECT_THAT(LabelsOf(dataset, {5, 0, 3, 2}), ElementsAre(5, 0, 3, 2));
  std::vector<std::byte> images(8);
  dataset.ReadBytes(RecordNumbers{4, 1}, "image", images);
  EXPECT_THAT(std::span(images).first(4), Each(std::byte{4}));
  EXPECT_THAT(std::span(images).last(4), Each(std::byte{1}));
}

TEST(Reader, GivesExamplesInPlace) {
  const test::TempDirectory directory;
  MakeShards(directory.path());
  const auto dataset = Dataset::Open(directory / "a.tfrecord");
  const auto example = dataset.ReadExample(1);
  const auto record = dataset.Record(1);
  const auto image = example.Find("image")->FirstBytes();
  EXPECT_GE(static_cast<const void*>(image.data()), static_cast<const void*>(record.data()));
  EXPECT_EQ(image, "\x01\x01\x01\x01");
}

TEST(Reader, BothFormatsGiveTheSameFields) {
  const test::TempDirectory directory;
  const auto source = MakeIdxPair(directory.path(), 7);
  const auto converted = directory / "out" / "train";
  Convert({source.images, source.labels, converted, DataFormat::kTfrecord, 2, {}});
  Convert({source.images, source.labels, directory / "train.h5", DataFormat::kHdf5, 1, {}});
  const auto records = Dataset::Open(directory / "out");
  const auto rows = Dataset::Open(directory / "train.h5");
  ASSERT_EQ(records.fields().size(), rows.fields().size());
  for (std::size_t i = 0; i < rows.fields().size(); ++i) {
    EXPECT_EQ(records.fields()[i].name, rows.fields()[i].name);
    EXPECT_EQ(records.fields()[i].kind, rows.fields()[i].kind);
    EXPECT_EQ(records.fields()[i].count, rows.fields()[i].count);
  }
  const RecordNumbers order = {6, 0, 1, 2, 5, 3, 4};
  std::vector<std::byte> left(order.size() * 6);
  std::vector<std::byte> right(left.size());
  records.ReadBytes(order, "image", left);
  rows.ReadBytes(order, "image", right);
  EXPECT_EQ(left, right);
  EXPECT_EQ(LabelsOf(records, order), LabelsOf(rows, order));
}

TEST(Reader, JoinsTheRowsOfSeveralHdf5Files) {
  const test::TempDirectory directory;
  for (const std::string name : {"a", "b"}) {
    const std::vector<float> values = {name == "a" ? 1.0F : 3.0F, name == "a" ? 2.0F : 4.0F};
    const auto file = CreateHdf5(directory / (name + ".h5"));
    WriteDataset(*file, {"x", NumberType::kFloat32, {2}}, std::as_bytes(std::span(values)));
    WriteDataset(*file, {"label", NumberType::kUint8, {2}}, BytesOf(name + name));
    file->Close();
  }
  const auto dataset = Dataset::Open(directory.path());
  std::vector<float> values(4);
  dataset.ReadFloats(RecordNumbers{0, 1, 2, 3}, "x", values);
  EXPECT_THAT(values, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(LabelsOf(dataset, {2, 1}), ElementsAre('b', 'a'));
}

TEST(Reader, RefusesHdf5DatasetsOfDifferentLengths) {
  const test::TempDirectory directory;
  const auto file = CreateHdf5(directory / "a.h5");
  WriteDataset(*file, {"x", NumberType::kUint8, {2}}, BytesOf("ab"));
  WriteDataset(*file, {"y", NumberType::kUint8, {3}}, BytesOf("abc"));
  file->Close();
  EXPECT_THAT(ErrorOf([&] { Dataset::Open(directory / "a.h5"); }).message(),
              AllOf(HasSubstr("'x' has 2 rows"), HasSubstr("'y' has 3")));
}

TEST(Reader, NamesFileRecordAndWhatItFound) {
  const test::TempDirectory directory;
  MakeTfrecords(directory / "a.tfrecord", {ImageExample(4, 0), ImageExample(5, 1)});
  const auto dataset = Dataset::Open(directory / "a.tfrecord");
  std::vector<std::byte> images(8);
  const auto error = ErrorOf([&] { dataset.ReadBytes(RecordNumbers{0, 1}, "image", images); });
  EXPECT_THAT(error.message(), AllOf(HasSubstr("a.tfrecord': record 1"), HasSubstr("field 'image'"),
                                     HasSubstr("expected one value of 4 bytes, found one value of 5 bytes")));
  EXPECT_THAT(ErrorOf([&] { dataset.ReadInt(0, "image"); }).message(), HasSubstr("expected 1 int64 values"));
  EXPECT_THAT(ErrorOf([&] { dataset.ReadInt(0, "lable"); }).message(), HasSubstr("found no such feature"));
  EXPECT_THAT(ErrorOf([&] { dataset.Field("lable"); }).message(), HasSubstr("it has: image, label"));
}

TEST(Reader, RefusesRecordsThatAreNotThere) {
  const test::TempDirectory directory;
  MakeShards(directory.path());
  const auto dataset = Dataset::Open(directory.path());
  EXPECT_EQ(ErrorOf([&] { dataset.ReadInt(6, "label"); }).kind(), ErrorKind::kUsage);
  EXPECT_EQ(ErrorOf([&] { dataset.Record(6); }).kind(), ErrorKind::kUsage);
  std::vector<std::int64_t> labels(3);
  EXPECT_EQ(ErrorOf([&] { dataset.ReadInts(RecordNumbers{0, 1}, "label", labels); }).kind(), ErrorKind::kUsage);
}

TEST(Reader, ReadsTheFilesOfTheManifestOnly) {
  const test::TempDirectory directory;
  MakeShards(directory.path());
  WriteManifest(directory.path(), R"([{"path":"b.tfrecord","records":3}])");
  EXPECT_THAT(LabelsOf(Dataset::Open(directory.path()), {0, 1, 2}), ElementsAre(3, 4, 5));
}

TEST(Reader, FollowsTheLinksOfDataThatIsReadInPlace) {
  const test::TempDirectory directory;
  MakeShards(directory.path());
  MakeDirectories(directory / "links");
  std::filesystem::create_symlink(directory / "a.tfrecord", directory / "links" / "a.tfrecord");
  WriteManifest(directory / "links", R"([{"path":"a.tfrecord","records":3}])");
  EXPECT_EQ(Dataset::Open(directory / "links").record_count(), 3u);
}

TEST(Reader, HoldsTheManifestToItsPromises) {
  const test::TempDirectory directory;
  MakeShards(directory.path());
  WriteManifest(directory.path(), R"([{"path":"a.tfrecord","records":4}])");
  EXPECT_THAT(ErrorOf([&] { Dataset::Open(directory.path()); }).message(),
              HasSubstr("3 records, its manifest promises 4"));
  WriteManifest(directory.path(), R"([{"path":"a.tfrecord","bytes":7}])");
  EXPECT_THAT(ErrorOf([&] { Dataset::Open(directory.path()); }).message(), HasSubstr("its manifest promises 7"));
}

TEST(Reader, AManifestCannotLeaveItsDirectory) {
  const test::TempDirectory directory;
  MakeShards(directory.path());
  MakeDirectories(directory / "inner");
  for (const std::string path : {"../a.tfrecord", "x/../../a.tfrecord", "/etc/passwd", ""}) {
    WriteManifest(directory / "inner", R"([{"path":")" + path + R"("}])");
    EXPECT_THAT(ErrorOf([&] { Dataset::Open(directory / "inner"); }).message(),
                HasSubstr("does not lie in the dataset's directory"));
  }
}

TEST(Reader, ABrokenManifestIsAnError) {
  const test::TempDirectory directory;
  for (const std::string text : {"", "{", "[]", "{}", R"({"schema":"slipway.manifest/2"})",
                                 R"({"schema":"slipway.manifest/1","format":"zip","files":[]})",
                                 R"({"schema":"slipway.manifest/1","format":"hdf5","files":[]})",
                                 R"({"schema":"slipway.manifest/1","format":"hdf5","files":[{"path":1}]})"}) {
    WriteFile(directory / "manifest.json", text);
    const auto error = ErrorOf([&] { Dataset::Open(directory.path()); });
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment) << text;
    EXPECT_THAT(error.message(), HasSubstr("manifest.json")) << text;
  }
}

TEST(Reader, RefusesWhatIsNoDataset) {
  const test::TempDirectory directory;
  EXPECT_THAT(ErrorOf([&] { Dataset::Open(directory / "missing"); }).message(), HasSubstr("missing"));
  EXPECT_THAT(ErrorOf([&] { Dataset::Open(directory.path()); }).message(), HasSubstr("holds neither"));
  WriteFile(directory / "empty.tfrecord", "");
  EXPECT_THAT(ErrorOf([&] { Dataset::Open(directory / "empty.tfrecord"); }).message(), HasSubstr("no records"));
  WriteFile(directory / "notes.txt", "text");
  EXPECT_THAT(ErrorOf([&] { Dataset::Open(directory / "notes.txt"); }).message(), HasSubstr("neither TFRecord"));
  MakeTfrecords(directory / "text.tfrecord", {"no Example"});
  EXPECT_THAT(ErrorOf([&] { Dataset::Open(directory / "text.tfrecord"); }).message(),
              HasSubstr("not a tf.train.Example"));
}

TEST(Reader, ChecksEveryRecordItReads) {
  const test::TempDirectory directory;
  const auto whole = MakeTfrecords(directory / "a", {ImageExample(64, 0), ImageExample(64, 1)});
  WriteFile(directory / "b", WithBitFlipped(whole, (whole.size() - 20) * 8));
  const auto damaged = Dataset::Open(directory / "b");
  EXPECT_EQ(damaged.ReadInt(0, "label"), 0);
  EXPECT_THAT(ErrorOf([&] { damaged.ReadInt(1, "label"); }).message(), HasSubstr("record 1"));
}

TEST(Dataset, HoldsALeaseOfItsGenerationWhileItIsOpen) {
  const test::TempDirectory tier;
  const auto generation = tier / "train-0123456789abcdef";
  std::filesystem::create_directories(generation / "deep");
  std::filesystem::create_directories(tier / ".locks");
  MakeTfrecords(generation / "deep/a.tfrecord", {ImageExample(4, 0)});
  WriteManifest(generation, R"([{"path": "deep/a.tfrecord", "records": 1}])");
  const auto lock = LeaseLockOf(tier.path(), "train-0123456789abcdef");
  const auto is_free = [&] { return FileLock::TryAcquire(lock, LockMode::kExclusive).has_value(); };
  EXPECT_TRUE(is_free());
  {
    const auto dataset = Dataset::Open(generation);
    EXPECT_FALSE(is_free());
  }
  EXPECT_TRUE(is_free());
  {
    const auto dataset = Dataset::OpenFiles({generation / "deep/a.tfrecord"});
    EXPECT_FALSE(is_free());
  }
  const auto removing = FileLock::TryAcquire(lock, LockMode::kExclusive);
  EXPECT_EQ(ErrorOf([&] { Dataset::Open(generation); }).kind(), ErrorKind::kBusy);
}

TEST(Dataset, LeavesFilesOutThatHoldNoData) {
  const test::TempDirectory directory;
  MakeShards(directory.path());
  MakeTfrecords(directory / "part-2", {ImageExample(4, 6)});
  WriteFile(directory / "README", "text");
  const auto dataset = Dataset::Open(directory.path());
  EXPECT_EQ(dataset.record_count(), 7u);
}

}  // namespace
}  // namespace slipway::staging
