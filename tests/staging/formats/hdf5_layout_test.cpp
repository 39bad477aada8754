// Where HDF5 values lie, stored chunks as they are, and full verification.
#include <gmock/gmock.h>

#include <cstring>

#include "core/files.h"
#include "staging/formats/hdf5.h"
#include "tests/staging/formats_support.h"
#include "tests/staging/hdf5_support.h"
#include "tests/support/temp_directory.h"

namespace slipway::staging {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// The int16 at `offset` of a file's bytes.
std::int16_t ValueAt(const std::string& file, std::uint64_t offset) {
  std::int16_t value = 0;
  std::memcpy(&value, file.data() + offset, sizeof value);
  return value;
}

std::vector<std::vector<std::uint64_t>> OriginsOf(const Hdf5Layout& layout) {
  std::vector<std::vector<std::uint64_t>> origins;
  for (const auto& chunk : layout.chunks) origins.push_back(chunk.origin);
  return origins;
}

/// Inverts one bit of the first stored chunk of `values`.
void DamageAChunk(const std::filesystem::path& path, std::size_t chunk) {
  const auto offset = OpenHdf5(path)->Layout("values").chunks.at(chunk).offset.value();
  WriteFile(path, WithBitFlipped(ReadFile(path), (offset + 3) * 8));
}

TEST(Hdf5Layout, TellsWhereContiguousValuesLie) {
  const test::TempDirectory directory;
  const std::vector<std::int16_t> values = {7, 8, 9};
  const auto path = directory / "a.h5";
  const auto file = CreateHdf5(path);
  WriteDataset(*file, {"values", NumberType::kInt16, {3}}, std::as_bytes(std::span(values)));
  file->Close();
  const auto layout = OpenHdf5(path)->Layout("values");
  EXPECT_EQ(layout.storage, Hdf5Storage::kContiguous);
  EXPECT_TRUE(layout.as_in_memory);
  EXPECT_EQ(layout.bytes, 6u);
  EXPECT_EQ(ValueAt(ReadFile(path), layout.offset.value() + 4), 9);
}

TEST(Hdf5Layout, TellsWhereEveryChunkLies) {
  const test::TempDirectory directory;
  const auto path = directory / "a.h5";
  MakeChunkedHdf5(path, {});
  const auto layout = OpenHdf5(path)->Layout("values");
  EXPECT_EQ(layout.storage, Hdf5Storage::kChunked);
  EXPECT_THAT(layout.chunk_shape, ElementsAre(2, 4));
  EXPECT_THAT(OriginsOf(layout), ElementsAre(ElementsAre(0, 0), ElementsAre(2, 0), ElementsAre(4, 0)));
  EXPECT_EQ(layout.chunks[1].bytes, 16u);
  EXPECT_EQ(ValueAt(ReadFile(path), layout.chunks[1].offset.value()), 8);
}

TEST(Hdf5Layout, SortsChunksOfSeveralDimensions) {
  const test::TempDirectory directory;
  const auto path = directory / "a.h5";
  MakeChunkedHdf5(path, {.shape = {3, 5}, .chunk = {2, 2}});
  EXPECT_THAT(OriginsOf(OpenHdf5(path)->Layout("values")),
              ElementsAre(ElementsAre(0, 0), ElementsAre(0, 2), ElementsAre(0, 4), ElementsAre(2, 0), ElementsAre(2, 2),
                          ElementsAre(2, 4)));
}

TEST(Hdf5Layout, LeavesOutChunksThatWereNeverWritten) {
  const test::TempDirectory directory;
  const auto path = directory / "a.h5";
  MakeChunkedHdf5(path, {.rows_written = 1});
  EXPECT_THAT(OriginsOf(OpenHdf5(path)->Layout("values")), ElementsAre(ElementsAre(0, 0)));
}

TEST(Hdf5Layout, IsQuickForADatasetThatIsMostlyHoles) {
  const test::TempDirectory directory;
  const auto path = directory / "a.h5";
  MakeChunkedHdf5(path, {.shape = {100'000, 4}, .chunk = {1, 4}, .rows_written = 2});
  EXPECT_THAT(OriginsOf(OpenHdf5(path)->Layout("values")), ElementsAre(ElementsAre(0, 0), ElementsAre(1, 0)));
}

TEST(Hdf5Layout, IsQuickForADatasetOfManyChunks) {
  const test::TempDirectory directory;
  const auto path = directory / "a.h5";
  MakeChunkedHdf5(path, {.shape = {20'000, 2}, .chunk = {1, 2}, .deflate = true});
  const auto file = OpenHdf5(path);
  const auto layout = file->Layout("values");
  ASSERT_EQ(layout.chunks.size(), 20'000u);
  EXPECT_THAT(layout.chunks[19'999].origin, ElementsAre(19'999, 0));
  EXPECT_FALSE(layout.chunks[7].offset);
  std::vector<std::byte> bytes;
  file->ReadChunk("values", layout.chunks[7].origin, bytes);
  EXPECT_EQ(bytes.size(), layout.chunks[7].bytes);
}

TEST(Hdf5Layout, NamesTheFilters) {
  const test::TempDirectory directory;
  const auto path = directory / "a.h5";
  MakeChunkedHdf5(path, {.shuffle = true, .deflate = true, .fletcher32 = true});
  const auto filters = OpenHdf5(path)->Layout("values").filters;
  ASSERT_EQ(filters.size(), 3u);
  EXPECT_EQ(filters[0].id, kShuffleFilter);
  EXPECT_EQ(filters[1].id, kDeflateFilter);
  EXPECT_EQ(filters[2].id, kFletcher32Filter);
  EXPECT_EQ(filters[1].name, "deflate");
  EXPECT_THAT(filters[1].parameters, ElementsAre(1));
}

TEST(Hdf5Layout, TellsNoPlacesBehindAUserBlock) {
  const test::TempDirectory directory;
  const auto path = directory / "a.h5";
  MakeChunkedHdf5(path, {.user_block = 512});
  const auto file = OpenHdf5(path);
  EXPECT_FALSE(file->Layout("values").chunks[0].offset);
  std::vector<std::byte> bytes;
  file->ReadChunk("values", std::vector<std::uint64_t>{2, 0}, bytes);
  EXPECT_EQ(ValueAt(TextOf(bytes), 0), 8);
}

TEST(Hdf5Layout, TellsNumbersOfAnotherByteOrder) {
  const test::TempDirectory directory;
  const auto path = directory / "a.h5";
  MakeForeignHdf5(path);
  EXPECT_FALSE(OpenHdf5(path)->Layout("values").as_in_memory);
}

TEST(Hdf5Layout, GivesTheStoredBytesOfAChunk) {
  const test::TempDirectory directory;
  const auto path = directory / "a.h5";
  MakeChunkedHdf5(path, {.deflate = true});
  const auto file = OpenHdf5(path);
  const auto chunk = file->Layout("values").chunks.at(1);
  std::vector<std::byte> bytes;
  EXPECT_EQ(file->ReadChunk("values", chunk.origin, bytes), 0u);
  EXPECT_EQ(TextOf(bytes), ReadFile(path).substr(chunk.offset.value(), chunk.bytes));
  const auto missing = ErrorOf([&] { file->ReadChunk("values", std::vector<std::uint64_t>{8, 0}, bytes); });
  EXPECT_THAT(missing.message(), HasSubstr("no stored chunk at [8, 0]"));
}

TEST(Hdf5Verify, IsContentWithWholeFilesOfAnyType) {
  const test::TempDirectory directory;
  const auto path = directory / "a.h5";
  MakeForeignHdf5(path);
  EXPECT_NO_THROW(OpenHdf5(path)->Verify([] {}));
  MakeChunkedHdf5(path, {.shape = {3, 5}, .chunk = {2, 2}, .shuffle = true, .deflate = true, .fletcher32 = true});
  EXPECT_NO_THROW(OpenHdf5(path)->Verify([] {}));
}

TEST(Hdf5Verify, NamesTheChunkWhoseChecksumIsWrong) {
  const test::TempDirectory directory;
  const auto path = directory / "a.h5";
  MakeChunkedHdf5(path, {.fletcher32 = true});
  DamageAChunk(path, 1);
  const auto error = ErrorOf([&] { OpenHdf5(path)->Verify([] {}); });
  EXPECT_THAT(error.message(),
              AllOf(HasSubstr("a.h5"), HasSubstr("chunk at [2, 0] of the dataset 'values'"), HasSubstr("Fletcher32")));
}

TEST(Hdf5Verify, NamesTheChunkThatCannotBeInflated) {
  const test::TempDirectory directory;
  const auto path = directory / "a.h5";
  MakeChunkedHdf5(path, {.deflate = true});
  DamageAChunk(path, 2);
  EXPECT_THAT(ErrorOf([&] { OpenHdf5(path)->Verify([] {}); }).message(), HasSubstr("chunk at [4, 0]"));
}

}  // namespace
}  // namespace slipway::staging
