#include "staging/formats/hdf5.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>

#include "core/files.h"
#include "tests/staging/formats_support.h"
#include "tests/staging/hdf5_support.h"
#include "tests/support/temp_directory.h"

namespace slipway::staging {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// `image` uint8 [3,2,2] = 0..11 and `weight` float64 [3] = 0.5, 1.5, 2.5.
void MakeFile(const std::filesystem::path& path) {
  std::vector<std::byte> pixels;
  for (int i = 0; i < 12; ++i) pixels.push_back(static_cast<std::byte>(i));
  const std::vector<double> weights = {0.5, 1.5, 2.5};
  const auto file = CreateHdf5(path);
  WriteDataset(*file, {"weight", NumberType::kFloat64, {3}}, std::as_bytes(std::span(weights)));
  WriteDataset(*file, {"image", NumberType::kUint8, {3, 2, 2}}, pixels);
  file->Close();
}

TEST(Hdf5, WritesFilesThatOthersCannotRead) {
  const test::TempDirectory directory;
  const auto before = ::umask(0);
  MakeFile(directory / "a.h5");
  ::umask(before);
  EXPECT_EQ(static_cast<mode_t>(std::filesystem::status(directory / "a.h5").permissions()), kFileMode);
}

std::vector<int> Pixels(Hdf5File& file, std::uint64_t begin, std::uint64_t end) {
  std::vector<std::byte> bytes((end - begin) * 4);
  file.ReadRows("image", begin, end, NumberType::kUint8, bytes);
  std::vector<int> values;
  for (const auto byte : bytes) values.push_back(std::to_integer<int>(byte));
  return values;
}

TEST(Hdf5, ListsAndReadsWhatItWrote) {
  const test::TempDirectory directory;
  MakeFile(directory / "a.h5");
  const auto file = OpenHdf5(directory / "a.h5");
  ASSERT_EQ(file->Datasets().size(), 2u);
  EXPECT_EQ(file->Datasets()[0].name, "image");
  EXPECT_THAT(file->Datasets()[0].shape, ElementsAre(3, 2, 2));
  EXPECT_EQ(file->Datasets()[1].type, NumberType::kFloat64);
  EXPECT_THAT(Pixels(*file, 1, 3), ElementsAre(4, 5, 6, 7, 8, 9, 10, 11));
}

TEST(Hdf5, ConvertsNumbers) {
  const test::TempDirectory directory;
  MakeFile(directory / "a.h5");
  const auto file = OpenHdf5(directory / "a.h5");
  std::vector<float> weights(2);
  file->ReadRows("weight", 1, 3, NumberType::kFloat32, std::as_writable_bytes(std::span(weights)));
  EXPECT_THAT(weights, ElementsAre(1.5F, 2.5F));
}

TEST(Hdf5, RefusesRowsThatAreNotThereAndBuffersThatDoNotFit) {
  const test::TempDirectory directory;
  MakeFile(directory / "a.h5");
  const auto file = OpenHdf5(directory / "a.h5");
  std::vector<std::byte> out(8);
  EXPECT_EQ(ErrorOf([&] { file->ReadRows("image", 2, 4, NumberType::kUint8, out); }).kind(), ErrorKind::kUsage);
  EXPECT_EQ(ErrorOf([&] { file->ReadRows("image", 0, 3, NumberType::kUint8, out); }).kind(), ErrorKind::kUsage);
  EXPECT_EQ(ErrorOf([&] { file->ReadRows("image", 3, 1, NumberType::kUint8, out); }).kind(), ErrorKind::kUsage);
  EXPECT_THAT(ErrorOf([&] { file->ReadRows("none", 0, 1, NumberType::kUint8, out); }).message(),
              HasSubstr("no dataset 'none'"));
}

TEST(Hdf5, NamesTheFileAndTheReasonOfATruncation) {
  const test::TempDirectory directory;
  MakeFile(directory / "a.h5");
  const auto whole = ReadFile(directory / "a.h5");
  WriteFile(directory / "b.h5", whole.substr(0, whole.size() / 2));
  const auto error = ErrorOf([&] { OpenHdf5(directory / "b.h5"); });
  EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
  EXPECT_THAT(error.message(), AllOf(HasSubstr("b.h5"), HasSubstr("truncated file")));
}

TEST(Hdf5, PrintsNothingItself) {
  const test::TempDirectory directory;
  WriteFile(directory / "a.h5", "not HDF5");
  ::testing::internal::CaptureStderr();
  EXPECT_THROW(OpenHdf5(directory / "a.h5"), Error);
  EXPECT_THROW(OpenHdf5(directory / "missing.h5"), Error);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(Hdf5, EveryTruncationIsAnError) {
  const test::TempDirectory directory;
  MakeFile(directory / "a.h5");
  const auto whole = ReadFile(directory / "a.h5");
  for (std::size_t size = 0; size < whole.size(); size += 13) {
    WriteFile(directory / "b.h5", whole.substr(0, size));
    EXPECT_THROW(OpenHdf5(directory / "b.h5"), Error) << size;
  }
}

TEST(Hdf5, AFlippedBitOfTheMetadataIsAnErrorOrChangesNothing) {
  const test::TempDirectory directory;
  MakeFile(directory / "a.h5");
  const auto whole = ReadFile(directory / "a.h5");
  int refused = 0;
  for (std::size_t bit = 3; bit < 48 * 8; bit += 8) {  // the superblock, one bit of every byte
    WriteFile(directory / "b.h5", WithBitFlipped(whole, bit));
    try {
      const auto file = OpenHdf5(directory / "b.h5");
      EXPECT_THAT(Pixels(*file, 0, 1), ElementsAre(0, 1, 2, 3)) << bit;
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GE(refused, 44);
}

TEST(Hdf5, RowsTooLargeToCountAreAnError) {
  const Hdf5Dataset dataset{"huge", NumberType::kUint8, {1, std::uint64_t{1} << 40, std::uint64_t{1} << 40}};
  EXPECT_THAT(ErrorOf([&] { ValuesPerRow(dataset); }).message(), HasSubstr("'huge'"));
}

}  // namespace
}  // namespace slipway::staging
