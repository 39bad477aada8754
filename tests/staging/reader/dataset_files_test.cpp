// Which files are a dataset to the batch reader: manifests, folders, single files, several HDF5 files, leases.
#include "staging/dataset/dataset_files.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "staging/dataset/lease.h"
#include "staging/formats/example.h"
#include "staging/formats/hdf5.h"
#include "staging/reader/batches.h"
#include "tests/staging/formats_support.h"
#include "tests/staging/hdf5_support.h"
#include "tests/staging/reader/batches_support.h"
#include "tests/staging/records_support.h"
#include "tests/support/temp_directory.h"

namespace slipway::staging {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

BatchReader OpenInOrder(const fs::path& path, std::vector<std::string> fields, std::uint64_t batch = 1) {
  BatchOptions options;
  for (auto& field : fields) options.fields.push_back({std::move(field), {}, {}, {}});
  options.batch = batch;
  options.order = RecordOrder::kInOrder;
  options.threads = 1;
  return BatchReader::Open(path, options);
}

Error RefusalOf(const fs::path& path, const std::vector<std::string>& fields = {"label"}) {
  return ErrorOf([&] { OpenInOrder(path, fields); });
}

/// Two shards of three Examples each, labels 0 to 5.
void MakeShards(const fs::path& directory) {
  MakeTfrecords(directory / "b.tfrecord", {ImageExample(4, 3), ImageExample(4, 4), ImageExample(4, 5)});
  MakeTfrecords(directory / "a.tfrecord", {ImageExample(4, 0), ImageExample(4, 1), ImageExample(4, 2)});
}

void WriteManifest(const fs::path& directory, const std::string& files) {
  auto entries = Json::parse(files);
  for (auto& entry : entries) {
    std::error_code missing;
    const auto bytes = fs::file_size(directory / entry["path"].get<std::string>(), missing);
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

struct Rows {
  std::string name;
  NumberType type;
  std::string values;  ///< the bytes of numbers without a shape
};

void MakeHdf5(const fs::path& path, const std::vector<Rows>& datasets) {
  const auto file = CreateHdf5(path);
  for (const auto& rows : datasets) {
    WriteDataset(*file, {rows.name, rows.type, {rows.values.size() / SizeOf(rows.type)}}, BytesOf(rows.values));
  }
  file->Close();
}

Rows FloatRows(const std::string& name, const std::vector<float>& values) {
  return {name, NumberType::kFloat32, TextOf(std::as_bytes(std::span(values)))};
}

TEST(DatasetFiles, GiveTheirRecordsInTheOrderOfTheirNames) {
  const test::TempDirectory directory;
  MakeShards(directory.path());
  EXPECT_EQ(FindDatasetFiles(directory.path()).format, DataFormat::kTfrecord);
  EXPECT_THAT(IntsIn(directory.path(), "label"), ElementsAre(0, 1, 2, 3, 4, 5));
  const auto images = BytesIn(directory.path(), "image");
  ASSERT_EQ(images.size(), 24u);
  for (std::size_t i = 0; i < images.size(); ++i) EXPECT_EQ(images[i], std::byte(i / 4)) << i;
}

TEST(DatasetFiles, JoinTheRowsOfSeveralHdf5Files) {
  const test::TempDirectory directory;
  MakeHdf5(directory / "a.h5", {FloatRows("x", {1, 2}), {"label", NumberType::kUint8, "aa"}});
  MakeHdf5(directory / "b.h5", {FloatRows("x", {3, 4}), {"label", NumberType::kUint8, "bb"}});
  EXPECT_THAT(FloatsIn(directory.path(), "x"), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(IntsIn(directory.path(), "label"), ElementsAre('a', 'a', 'b', 'b'));
}

TEST(DatasetFiles, RefuseHdf5DatasetsOfDifferentLengths) {
  const test::TempDirectory directory;
  MakeHdf5(directory / "a.h5", {{"x", NumberType::kUint8, "ab"}, {"y", NumberType::kUint8, "abc"}});
  EXPECT_THAT(RefusalOf(directory / "a.h5", {"x", "y"}).message(),
              AllOf(HasSubstr("'x' has 2 rows"), HasSubstr("'y' has 3")));
}

TEST(DatasetFiles, RefuseHdf5FilesOfDifferentDatasets) {
  const test::TempDirectory directory;
  MakeHdf5(directory / "a.h5", {FloatRows("x", {1, 2})});
  MakeHdf5(directory / "b.h5", {{"x", NumberType::kUint8, "ab"}});
  const auto error = RefusalOf(directory.path(), {"x"});
  EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
  EXPECT_THAT(error.message(), AllOf(HasSubstr("a.h5"), HasSubstr("b.h5' have different datasets")));
}

TEST(DatasetFiles, NameFileRecordAndWhatWasFound) {
  const test::TempDirectory directory;
  const auto text = ExampleBuilder().AddBytes("image", "1234").AddBytes("label", "2").Finish();
  MakeTfrecords(directory / "a.tfrecord", {ImageExample(4, 0), ImageExample(5, 1)});
  MakeTfrecords(directory / "b.tfrecord", {ImageExample(4, 0), text});
  auto images = OpenInOrder(directory / "a.tfrecord", {"image"}, 2);
  EXPECT_THAT(ErrorOf([&] { images.Next(); }).what(),
              AllOf(HasSubstr("a.tfrecord': record 1"), HasSubstr("field 'image'"),
                    HasSubstr("expected one value of 4 bytes, found one value of 5 bytes")));
  auto labels = OpenInOrder(directory / "b.tfrecord", {"label"}, 2);
  EXPECT_THAT(ErrorOf([&] { labels.Next(); }).what(),
              AllOf(HasSubstr("b.tfrecord': record 1"), HasSubstr("field 'label'"),
                    HasSubstr("expected 1 int64 values, found one value of 1 bytes")));
  EXPECT_THAT(RefusalOf(directory / "a.tfrecord", {"lable"}).message(), HasSubstr("it has: image, label"));
}

TEST(DatasetFiles, AreThoseOfTheManifestOnly) {
  const test::TempDirectory directory;
  MakeShards(directory.path());
  WriteManifest(directory.path(), R"([{"path":"b.tfrecord","records":3}])");
  EXPECT_THAT(IntsIn(directory.path(), "label"), ElementsAre(3, 4, 5));
}

TEST(DatasetFiles, AreFoundBehindLinksToDataThatIsReadInPlace) {
  const test::TempDirectory directory;
  MakeShards(directory.path());
  MakeDirectories(directory / "links");
  fs::create_symlink(directory / "a.tfrecord", directory / "links" / "a.tfrecord");
  WriteManifest(directory / "links", R"([{"path":"a.tfrecord","records":3}])");
  EXPECT_THAT(IntsIn(directory / "links", "label"), ElementsAre(0, 1, 2));
}

TEST(DatasetFiles, AreHeldToThePromisesOfTheManifest) {
  const test::TempDirectory directory;
  MakeShards(directory.path());
  WriteManifest(directory.path(), R"([{"path":"a.tfrecord","records":4}])");
  EXPECT_THAT(RefusalOf(directory.path()).message(), HasSubstr("3 records, its manifest promises 4"));
  WriteManifest(directory.path(), R"([{"path":"a.tfrecord","bytes":7}])");
  EXPECT_THAT(RefusalOf(directory.path()).message(), HasSubstr("its manifest promises 7"));
}

TEST(DatasetFiles, LieInTheDirectoryOfTheirManifest) {
  const test::TempDirectory directory;
  MakeShards(directory.path());
  MakeDirectories(directory / "inner");
  for (const std::string path : {"../a.tfrecord", "x/../../a.tfrecord", "/etc/passwd", ""}) {
    WriteManifest(directory / "inner", R"([{"path":")" + path + R"("}])");
    EXPECT_THAT(RefusalOf(directory / "inner").message(), HasSubstr("does not lie in the dataset's directory"));
  }
}

TEST(DatasetFiles, OfABrokenManifestAreAnError) {
  const test::TempDirectory directory;
  for (const std::string text : {"", "{", "[]", "{}", R"({"schema":"slipway.manifest/2"})",
                                 R"({"schema":"slipway.manifest/1","format":"zip","files":[]})",
                                 R"({"schema":"slipway.manifest/1","format":"hdf5","files":[]})",
                                 R"({"schema":"slipway.manifest/1","format":"hdf5","files":[{"path":1}]})"}) {
    WriteFile(directory / "manifest.json", text);
    const auto error = RefusalOf(directory.path());
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment) << text;
    EXPECT_THAT(error.message(), HasSubstr("manifest.json")) << text;
  }
}

TEST(DatasetFiles, ThatHoldNoRecordsAreRefused) {
  const test::TempDirectory directory;
  EXPECT_THAT(RefusalOf(directory / "missing").message(), HasSubstr("missing"));
  EXPECT_THAT(RefusalOf(directory.path()).message(), HasSubstr("holds neither"));
  WriteFile(directory / "empty.tfrecord", "");
  EXPECT_THAT(RefusalOf(directory / "empty.tfrecord").message(), HasSubstr("no records"));
  WriteFile(directory / "notes.txt", "text");
  EXPECT_THAT(RefusalOf(directory / "notes.txt").message(), HasSubstr("neither TFRecord"));
  MakeTfrecords(directory / "text.tfrecord", {"no Example"});
  EXPECT_THAT(RefusalOf(directory / "text.tfrecord").message(), HasSubstr("not a tf.train.Example"));
}

TEST(DatasetFiles, AreCheckedRecordByRecord) {
  const test::TempDirectory directory;
  const auto whole = MakeTfrecords(directory / "a", {ImageExample(64, 0), ImageExample(64, 1)});
  WriteFile(directory / "b", WithBitFlipped(whole, (whole.size() - 20) * 8));
  auto damaged = OpenInOrder(directory / "b", {"label"});
  EXPECT_THAT(LabelsOf(*damaged.Next()), ElementsAre(0));
  EXPECT_THAT(ErrorOf([&] { damaged.Next(); }).what(), HasSubstr("record 1"));
}

TEST(DatasetFiles, AreLeasedWhileAReaderIsOpen) {
  const test::TempDirectory tier;
  const auto generation = tier / "train-0123456789abcdef";
  fs::create_directories(generation / "deep");
  fs::create_directories(tier / ".locks");
  MakeTfrecords(generation / "deep/a.tfrecord", {ImageExample(4, 0)});
  WriteManifest(generation, R"([{"path": "deep/a.tfrecord", "records": 1}])");
  const auto lock = LeaseLockOf(tier.path(), "train-0123456789abcdef");
  const auto is_free = [&] { return FileLock::TryAcquire(lock, LockMode::kExclusive).has_value(); };
  EXPECT_TRUE(is_free());
  for (const auto& path : {generation, generation / "deep/a.tfrecord"}) {
    {
      const auto reader = OpenInOrder(path, {"label"});
      EXPECT_FALSE(is_free()) << path;
    }
    EXPECT_TRUE(is_free()) << path;
  }
  const auto removing = FileLock::TryAcquire(lock, LockMode::kExclusive);
  EXPECT_EQ(RefusalOf(generation).kind(), ErrorKind::kBusy);
}

TEST(DatasetFiles, WithoutDataAreLeftOut) {
  const test::TempDirectory directory;
  MakeShards(directory.path());
  MakeTfrecords(directory / "part-2", {ImageExample(4, 6)});
  WriteFile(directory / "README", "text");
  EXPECT_THAT(IntsIn(directory.path(), "label"), ElementsAre(0, 1, 2, 3, 4, 5, 6));
}

}  // namespace
}  // namespace slipway::staging
