// Conversion from NumPy, images in folders, tar shards, TFRecord and HDF5.
#include <gmock/gmock.h>

#include <cstring>
#include <numeric>

#include "core/files.h"
#include "staging/convert/convert.h"
#include "staging/formats/detect.h"
#include "staging/formats/example.h"
#include "staging/formats/hdf5.h"
#include "staging/formats/tfrecord.h"
#include "tests/staging/formats_support.h"
#include "tests/staging/hdf5_support.h"
#include "tests/staging/numpy_support.h"
#include "tests/staging/records_support.h"
#include "tests/support/temp_directory.h"

namespace slipway::staging {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

ConvertOptions From(std::vector<fs::path> sources, const fs::path& destination, DataFormat to, int shards = 1) {
  ConvertOptions options;
  options.sources = std::move(sources);
  options.destination = destination;
  options.to = to;
  options.shards = shards;
  return options;
}

template <class Value>
std::string BytesOfValues(const std::vector<Value>& values) {
  return TextOf(std::as_bytes(std::span(values)));
}

/// image.npy: uint8 [4,2,3] = 0..23; label.npy: int64 [4] = 10..13; weight.npy: float64 [4,2].
std::vector<fs::path> MakeArrays(const fs::path& directory) {
  std::string pixels(24, '\0');
  std::iota(pixels.begin(), pixels.end(), '\0');
  WriteFile(directory / "image.npy", NpyText("|u1", "(4, 2, 3)", pixels));
  WriteFile(directory / "label.npy", NpyText("<i8", "(4,)", BytesOfValues<std::int64_t>({10, 11, 12, 13})));
  WriteFile(directory / "weight.npy",
            NpyText("<f8", "(4, 2)", BytesOfValues<double>({0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5})));
  return {directory / "image.npy", directory / "label.npy", directory / "weight.npy"};
}

void ExpectTheArrays(const fs::path& dataset) {
  std::vector<std::byte> pixels(24);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = std::byte(i);
  EXPECT_EQ(BytesIn(dataset, "image"), pixels);
  EXPECT_THAT(IntsIn(dataset, "label"), ElementsAre(10, 11, 12, 13));
  EXPECT_THAT(FloatsIn(dataset, "weight"), ElementsAre(0, 0.5F, 1, 1.5F, 2, 2.5F, 3, 3.5F));
}

TEST(ConvertNumpy, GivesTheSameRecordsInEveryFormatAndBack) {
  const test::TempDirectory directory;
  const auto arrays = MakeArrays(directory.path());
  Convert(From(arrays, directory / "a" / "train", DataFormat::kTfrecord, 3));
  ExpectTheArrays(directory / "a");
  Convert(From(arrays, directory / "b" / "train.h5", DataFormat::kHdf5));
  ExpectTheArrays(directory / "b");
  Convert(From({directory / "a"}, directory / "c" / "train.h5", DataFormat::kHdf5));
  ExpectTheArrays(directory / "c");
  Convert(From({directory / "b"}, directory / "d" / "train", DataFormat::kTfrecord, 2));
  ExpectTheArrays(directory / "d");
}

TEST(ConvertSources, AreFoundByTheNameThatTheyWereWrittenUnderAndByPatterns) {
  const test::TempDirectory directory;
  Convert(From(MakeArrays(directory.path()), directory / "a" / "train", DataFormat::kTfrecord, 3));
  Convert(From({directory / "a/train"}, directory / "a/train.h5", DataFormat::kHdf5));
  int copy = 0;
  for (const auto* source : {"a/train", "a/train.tfrecord", "a/train.h5", "a/train-*", "a/*.tfrecord", "*.npy"}) {
    const auto out = directory / ("out" + std::to_string(++copy));
    SCOPED_TRACE(source);
    Convert(From({directory / source}, out / "train", DataFormat::kTfrecord));
    ExpectTheArrays(out);
  }
  for (const auto& file : fs::directory_iterator(directory / "a")) {
    if (file.path().extension() == ".tfrecord") fs::remove(file.path());
  }
  Convert(From({directory / "a/train"}, directory / "last" / "train", DataFormat::kTfrecord));
  ExpectTheArrays(directory / "last");
}

TEST(ConvertSources, NamesWhatDoesNotFit) {
  const test::TempDirectory directory;
  const auto message_of = [&](const char* source) {
    return ErrorOf([&] { Convert(From({directory / source}, directory / "b/t", DataFormat::kHdf5)); }).message();
  };
  EXPECT_THAT(message_of("train-*"), HasSubstr("no file matches the pattern"));
  EXPECT_THAT(message_of("a/train"), HasSubstr("a/train'"));
  const auto arrays = MakeArrays(directory.path());
  const auto first = Convert(From(arrays, directory / "a/train", DataFormat::kTfrecord, 2));
  Convert(From(arrays, directory / "a/train", DataFormat::kWebdataset, 2));
  EXPECT_THAT(message_of("a/train"), HasSubstr("is the name of several sets of files"));
  fs::remove(first.files[1]);
  EXPECT_THAT(message_of("a/train.tfrecord"), HasSubstr("train-00001-of-00002.tfrecord"));
}

TEST(ConvertNumpy, ReadsNpz) {
  const test::TempDirectory directory;
  std::vector<std::pair<std::string, std::string>> members;
  for (const auto& path : MakeArrays(directory.path())) members.emplace_back(path.filename(), ReadFile(path));
  WriteFile(directory / "set.npz", ZipText(members, true));
  Convert(From({directory / "set.npz"}, directory / "a" / "train", DataFormat::kTfrecord));
  ExpectTheArrays(directory / "a");
}

TEST(ConvertNumpy, KeepsTheWholeKeysOfAnNpz) {
  const test::TempDirectory directory;
  const auto one = NpyText("|u1", "(1,)", "x");
  WriteFile(directory / "set.npz",
            ZipText({{"left/value.npy", one}, {"right/value.npy", one}, {"a.b.npy", one}}, true));
  Convert(From({directory / "set.npz"}, directory / "a" / "train", DataFormat::kTfrecord));
  for (const auto* name : {"left/value", "right/value", "a.b"}) {
    EXPECT_THAT(IntsIn(directory / "a", name), ElementsAre('x')) << name;
  }
}

TEST(ConvertNumpy, RefusesArraysOfDifferentLengths) {
  const test::TempDirectory directory;
  auto arrays = MakeArrays(directory.path());
  WriteFile(directory / "more.npy", NpyText("|u1", "(5,)", "abcde"));
  arrays.push_back(directory / "more.npy");
  const auto error = ErrorOf([&] { Convert(From(arrays, directory / "a" / "t", DataFormat::kTfrecord)); });
  EXPECT_THAT(error.message(), HasSubstr("'more' has 5 records, 'image' has 4"));
  EXPECT_FALSE(fs::exists(directory / "a"));
}

TEST(ConvertImages, StoresThemUndecodedWithClassAndSize) {
  const test::TempDirectory directory;
  for (const auto* folder : {"cats", "dogs", ".hidden"}) fs::create_directories(directory / "in" / folder);
  WriteFile(directory / "in/dogs/b.jpg", JpegText(300, 500));
  WriteFile(directory / "in/dogs/a.PNG", PngText(3, 7));
  WriteFile(directory / "in/cats/z.jpeg", JpegText(20, 30));
  WriteFile(directory / "in/cats/notes.txt", "no image");
  const auto result = Convert(From({directory / "in"}, directory / "out" / "train", DataFormat::kTfrecord));
  ASSERT_EQ(result.left_out.size(), 2u);
  EXPECT_EQ(result.left_out[0].path, directory / "in/cats/notes.txt");
  EXPECT_EQ(result.left_out[1].path, directory / "in/.hidden");
  const auto dataset = directory / "out";
  EXPECT_THAT(TextsIn(dataset, "class"), ElementsAre("cats", "dogs", "dogs"));
  EXPECT_THAT(TextsIn(dataset, "image"), ElementsAre(JpegText(20, 30), PngText(3, 7), JpegText(300, 500)));
  EXPECT_THAT(IntsIn(dataset, "label"), ElementsAre(0, 1, 1));
  EXPECT_THAT(IntsIn(dataset, "height"), ElementsAre(20, 3, 300));
  EXPECT_THAT(IntsIn(dataset, "width"), ElementsAre(30, 7, 500));
}

TEST(ConvertImages, NamesTheImageThatIsNone) {
  const test::TempDirectory directory;
  fs::create_directories(directory / "in/cats");
  WriteFile(directory / "in/cats/a.jpg", "no image");
  const auto error = ErrorOf([&] { Convert(From({directory / "in"}, directory / "out/t", DataFormat::kTfrecord)); });
  EXPECT_THAT(error.message(), HasSubstr("cats/a.jpg' is neither JPEG, PNG, GIF, BMP nor WebP"));
}

TEST(ConvertTfrecord, CompressesAndInflatesRecordsAsTheyAre) {
  const test::TempDirectory directory;
  MakeTfrecords(directory / "a.tfrecord", {"no Example", "", std::string(5000, 'x')});
  auto options = From({directory / "a.tfrecord"}, directory / "b" / "train", DataFormat::kTfrecord);
  options.compression = Compression::kGzip;
  const auto packed = Convert(options).files.at(0);
  EXPECT_EQ(DetectCompression(packed), Compression::kGzip);
  const auto plain = Convert(From({packed}, directory / "c" / "train", DataFormat::kTfrecord)).files.at(0);
  EXPECT_EQ(ReadFile(plain), ReadFile(directory / "a.tfrecord"));
}

TEST(ConvertTfrecord, NamesTheRecordThatDoesNotFitAnArray) {
  const test::TempDirectory directory;
  MakeTfrecords(directory / "a.tfrecord", {ImageExample(10, 1), ImageExample(11, 2)});
  const auto error = ErrorOf([&] { Convert(From({directory / "a.tfrecord"}, directory / "b.h5", DataFormat::kHdf5)); });
  EXPECT_THAT(error.message(), HasSubstr("record 1: the field 'image' has 11 bytes, in the first record it has 10"));
  EXPECT_FALSE(fs::exists(directory / "b.h5"));
}

TEST(ConvertTfrecord, NamesTheRecordWithoutAFeature) {
  const test::TempDirectory directory;
  MakeTfrecords(directory / "a.tfrecord", {ImageExample(10, 1), ExampleBuilder().AddInt("label", 1).Finish()});
  const auto error = ErrorOf([&] { Convert(From({directory / "a.tfrecord"}, directory / "b.h5", DataFormat::kHdf5)); });
  EXPECT_THAT(error.message(), HasSubstr("a.tfrecord': record 1: the feature 'image' is not as in the first record"));
}

TEST(ConvertTfrecord, NamesTheRecordThatHasMoreThanTheFirst) {
  const test::TempDirectory directory;
  MakeTfrecords(directory / "a.tfrecord", {ExampleBuilder().AddInt("label", 1).Finish(), ImageExample(10, 1)});
  const auto error = ErrorOf([&] { Convert(From({directory / "a.tfrecord"}, directory / "b.h5", DataFormat::kHdf5)); });
  EXPECT_THAT(error.message(), HasSubstr("record 1 has a feature 'image', which the first record does not have"));
  EXPECT_FALSE(fs::exists(directory / "b.h5"));
}

TEST(ConvertNumpy, RefusesNumbersThatATfrecordCannotHold) {
  const test::TempDirectory directory;
  WriteFile(directory / "id.npy", NpyText("<u8", "(2,)", BytesOfValues<std::uint64_t>({1, 1ull << 63})));
  WriteFile(directory / "mass.npy", NpyText("<f8", "(2,)", BytesOfValues<double>({1, 1e300})));
  for (const char* name : {"id.npy", "mass.npy"}) {
    const auto error = ErrorOf([&] { Convert(From({directory / name}, directory / "out/", DataFormat::kTfrecord)); });
    EXPECT_THAT(error.message(), HasSubstr("is larger than")) << name;
  }
}

TEST(ConvertHdf5, ReadsChunksAndFilters) {
  const test::TempDirectory directory;
  MakeChunkedHdf5(directory / "a.h5", {.shuffle = true, .deflate = true});
  Convert(From({directory / "a.h5"}, directory / "b" / "train", DataFormat::kTfrecord, 2));
  std::vector<std::int64_t> numbers(20);
  std::iota(numbers.begin(), numbers.end(), 0);
  EXPECT_EQ(IntsIn(directory / "b", "values"), numbers);
}

TEST(ConvertHdf5, TakesTruthValuesStringsAndSequencesOfBytesAlong) {
  const test::TempDirectory directory;
  MakeTextHdf5(directory / "a.h5");
  Convert(From({directory / "a.h5"}, directory / "b" / "train", DataFormat::kTfrecord));
  const auto dataset = directory / "b";
  EXPECT_THAT(IntsIn(dataset, "alive"), ElementsAre(1, 0, 1));
  EXPECT_THAT(TextsIn(dataset, "blob"), ElementsAre(std::string("\1\0\2", 3), "", "z"));
  EXPECT_THAT(TextsIn(dataset, "code"), ElementsAre("ab", "", "wxyz"));
  EXPECT_THAT(TextsIn(dataset, "name"), ElementsAre("one", "", "three"));
}

TEST(ConvertHdf5, NamesWhatCannotBeTakenAlong) {
  const std::pair<Unread, const char*> kinds[] = {{Unread::kCompound, "'extra' has a compound type"},
                                                  {Unread::kEnumeration, "'extra' has an enumerated type"},
                                                  {Unread::kOneValue, "'extra' is one value"},
                                                  {Unread::kTable, "'extra' has several strings in each row"},
                                                  {Unread::kExternalLink, "'extra' is a link into another file"}};
  for (const auto& [kind, reason] : kinds) {
    const test::TempDirectory directory;
    MakeTextHdf5(directory / "a.h5");
    AddUnread(directory / "a.h5", kind);
    const auto error = ErrorOf([&] { Convert(From({directory / "a.h5"}, directory / "b/", DataFormat::kTfrecord)); });
    EXPECT_THAT(error.message(), HasSubstr(reason));
    EXPECT_FALSE(fs::exists(directory / "b"));
  }
}

TEST(ConvertHdf5, ReadsAndWritesDatasetsInGroups) {
  const test::TempDirectory directory;
  MakeTfrecords(directory / "a.tfrecord", {ExampleBuilder().AddInt("image/label", 7).Finish()});
  Convert(From({directory / "a.tfrecord"}, directory / "b" / "train.h5", DataFormat::kHdf5));
  EXPECT_THAT(IntsIn(directory / "b", "image/label"), ElementsAre(7));
}

TEST(ConvertHdf5, ManyFilesGiveTheirRecordsInOrder) {
  const test::TempDirectory directory;
  std::vector<fs::path> files;
  for (int i = 0; i < 5; ++i) {
    files.push_back(directory / ("part-" + std::to_string(i) + ".h5"));
    const std::vector<std::int64_t> rows(static_cast<std::size_t>(i), i);  // the first has none
    const auto file = CreateHdf5(files.back());
    WriteDataset(*file, {"number", NumberType::kInt64, {rows.size()}}, std::as_bytes(std::span(rows)));
    file->Close();
  }
  Convert(From(files, directory / "out" / "train", DataFormat::kTfrecord, 3));
  EXPECT_THAT(IntsIn(directory / "out", "number"), ElementsAre(1, 2, 2, 3, 3, 3, 4, 4, 4, 4));
}

TEST(ConvertNumpy, RefusesRecordsWithoutValues) {
  const test::TempDirectory directory;
  WriteFile(directory / "none.npy", NpyText("|u1", "(1152921504606846976, 0)", ""));
  const auto error = ErrorOf([&] { Convert(From({directory / "none.npy"}, directory / "b/", DataFormat::kTfrecord)); });
  EXPECT_THAT(error.message(), HasSubstr("'none' has no values"));
}

TEST(ConvertHdf5, RefusesRecordsWithoutValues) {
  const test::TempDirectory directory;
  const auto file = CreateHdf5(directory / "a.h5");
  file->CreateDataset({"none", NumberType::kUint8, {1ULL << 60, 0}});
  file->Close();
  const auto error = ErrorOf([&] { Convert(From({directory / "a.h5"}, directory / "b/", DataFormat::kTfrecord)); });
  EXPECT_THAT(error.message(), HasSubstr("'none' has no values"));
}

TEST(Convert, NamesADestinationThatCannotBeLookedAt) {
  const test::TempDirectory directory;
  const auto arrays = MakeArrays(directory.path());
  fs::create_symlink("loop", directory / "loop");
  const auto error = ErrorOf([&] { Convert(From(arrays, directory / "loop" / "train", DataFormat::kTfrecord)); });
  EXPECT_THAT(error.message(), HasSubstr("loop"));
}

TEST(Convert, RefusesToReplaceItsSource) {
  const test::TempDirectory directory;
  const auto arrays = MakeArrays(directory.path());
  const auto made = Convert(From(arrays, directory / "a.h5", DataFormat::kHdf5)).files.at(0);
  const auto before = ReadFile(made);
  const auto error = ErrorOf([&] { Convert(From({made}, directory / "a.h5", DataFormat::kHdf5)); });
  EXPECT_THAT(error.message(), HasSubstr("a.h5' is a file of the source"));
  EXPECT_EQ(ReadFile(made), before);
}

TEST(Convert, RefusesSourcesThatDoNotBelongTogether) {
  const test::TempDirectory directory;
  WriteFile(directory / "a.txt", "text");
  const auto foreign = ErrorOf([&] { Convert(From({directory / "a.txt"}, directory / "b", DataFormat::kTfrecord)); });
  EXPECT_EQ(foreign.kind(), ErrorKind::kUsage);
  EXPECT_EQ(ErrorOf([&] { Convert(From({}, directory / "b", DataFormat::kTfrecord)); }).kind(), ErrorKind::kUsage);
  auto packed = From(MakeArrays(directory.path()), directory / "b", DataFormat::kHdf5);
  packed.compression = Compression::kGzip;
  EXPECT_EQ(ErrorOf([&] { Convert(packed); }).kind(), ErrorKind::kUsage);
}

}  // namespace
}  // namespace slipway::staging
