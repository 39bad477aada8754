// HDF5 in batches: every layout gives the same rows, by the way that it allows.
#include "staging/reader/hdf5_rows.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstring>
#include <numeric>

#include "core/error.h"
#include "core/files.h"
#include "staging/reader/batches.h"
#include "staging/reader/hdf5_filters.h"
#include "tests/staging/formats_support.h"
#include "tests/staging/hdf5_support.h"
#include "tests/support/temp_directory.h"

namespace slipway::staging {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Way {
  std::string name;
  ChunkedFile file;
  std::string expected;
};

std::vector<Way> Ways() {
  return {{"more chunks than are located", {{5000, 4}, {1, 4}, true, true}, "chunks"},
          {"filters and a user block", {{5, 4}, {2, 4}, true, true, false, 512}, "chunks"},
          {"plain rows", {{5, 4}, {1, 4}}, "file"},
          {"several rows", {{5, 4}, {2, 4}}, "file"},
          {"deflate", {{5, 4}, {2, 4}, false, true}, "chunks"},
          {"shuffle and deflate", {{5, 4}, {1, 4}, true, true}, "chunks"},
          {"all filters", {{5, 4}, {2, 4}, true, true, true}, "chunks"},
          {"fletcher32", {{5, 4}, {3, 4}, false, false, true}, "chunks"},
          {"parts of rows", {{5, 4}, {2, 2}}, "library"},
          {"user block", {{5, 4}, {2, 4}, false, false, false, 512}, "library"}};
}

std::unique_ptr<Hdf5Rows> RowsOf(const std::filesystem::path& path) {
  std::shared_ptr<Hdf5File> file = OpenHdf5(path);
  const auto dataset = file->Datasets().at(0);
  return OpenHdf5Rows(std::move(file), path, dataset);
}

std::vector<int> Row(const Hdf5Rows& rows, std::uint64_t row, ChunkMemory& memory) {
  std::vector<std::int16_t> values(rows.row_bytes() / 2);
  rows.Read(row, std::as_writable_bytes(std::span(values)), memory);
  return {values.begin(), values.end()};
}

TEST(Hdf5Rows, EveryLayoutGivesTheSameRows) {
  for (const auto& way : Ways()) {
    const test::TempDirectory directory;
    MakeChunkedHdf5(directory / "a.h5", way.file);
    const auto rows = RowsOf(directory / "a.h5");
    EXPECT_EQ(rows->way(), way.expected) << way.name;
    ChunkMemory memory;
    for (const std::uint64_t row : {4u, 0u, 1u, 3u, 2u}) {
      const auto first = static_cast<int>(row) * 4;
      EXPECT_THAT(Row(*rows, row, memory), ElementsAre(first, first + 1, first + 2, first + 3)) << way.name;
    }
  }
}

TEST(Hdf5Rows, RowsThatWereNeverWrittenAreZero) {
  const test::TempDirectory directory;
  ChunkedFile file{{5, 4}, {1, 4}, true, true};
  file.rows_written = 2;
  MakeChunkedHdf5(directory / "a.h5", file);
  const auto rows = RowsOf(directory / "a.h5");
  ChunkMemory memory;
  EXPECT_THAT(Row(*rows, 1, memory), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(Row(*rows, 3, memory), ElementsAre(0, 0, 0, 0));
}

/// Two rows of as many as it says.
void MakeSparseHdf5(const std::filesystem::path& path, std::uint64_t rows) {
  ChunkedFile file{{rows, 1}, {2, 1}, false, true};
  file.rows_written = 2;
  MakeChunkedHdf5(path, file);
}

TEST(Hdf5Rows, AnyNumberOfPromisedRowsTakesNoMemory) {
  const test::TempDirectory directory;
  for (const int bits : {33, 62}) {
    const auto rows = std::uint64_t{1} << bits;
    MakeSparseHdf5(directory / "a.h5", rows);
    const auto opened = RowsOf(directory / "a.h5");
    ChunkMemory memory;
    EXPECT_THAT(Row(*opened, 1, memory), ElementsAre(1));
    EXPECT_THAT(Row(*opened, rows - 1, memory), ElementsAre(0));
  }
}

TEST(Hdf5Batches, RefuseMoreRowsThanAnOrderCanHave) {
  const test::TempDirectory directory;
  BatchOptions options;
  options.fields = {{"values", {}, {}, {}}};
  const auto rows = std::uint64_t{1} << 62;
  MakeSparseHdf5(directory / "0.h5", rows);
  EXPECT_THAT(ErrorOf([&] { BatchReader::Open(directory.path(), options); }).message(),
              HasSubstr(fmt::format("promise {} records", rows)));
  for (const auto* name : {"1.h5", "2.h5", "3.h5"}) MakeSparseHdf5(directory / name, rows);
  EXPECT_THAT(ErrorOf([&] { BatchReader::Open(directory.path(), options); }).message(),
              AllOf(HasSubstr("3.h5"), HasSubstr("more than can be counted")));
}

TEST(Hdf5Rows, AFlippedBitOfAFilteredChunkIsFound) {
  for (const bool deflate : {false, true}) {
    const test::TempDirectory directory;
    const auto path = directory / "a.h5";
    MakeChunkedHdf5(path, {{5, 4}, {1, 4}, false, deflate, true});
    const auto chunk = OpenHdf5(path)->Layout("values").chunks.at(2);
    WriteFile(path, WithBitFlipped(ReadFile(path), (chunk.offset.value() + 3) * 8));
    BatchOptions options;
    options.fields = {{"values", {}, {}, {}}};
    options.order = RecordOrder::kInOrder;
    options.on_corrupt = OnCorrupt::kSkip;
    options.batch = 5;
    auto reader = BatchReader::Open(path, options);
    const auto* batch = reader.Next();
    EXPECT_THAT(std::vector(batch->records.begin(), batch->records.end()), ElementsAre(0, 1, 3, 3, 4));
    ASSERT_EQ(reader.stats().corrupt.size(), 1u);
    EXPECT_THAT(reader.stats().corrupt[0].reason, HasSubstr("the chunk is damaged"));
  }
}

TEST(Hdf5Rows, HostileChunksAreErrors) {
  const std::vector<Hdf5Filter> deflate = {{kDeflateFilter, "deflate", {6}}};
  for (const std::string text : {"", "x", "not deflated at all"}) {
    const auto bytes = BytesOf(text);
    std::vector<std::byte> stored(bytes.begin(), bytes.end()), values;
    EXPECT_THROW(UndoFilters(deflate, 0, 64, stored, values), Error) << text;
    stored.resize(3);
    EXPECT_THROW(UndoFilters(std::vector<Hdf5Filter>{{kFletcher32Filter, "", {}}}, 0, 64, stored, values), Error);
  }
  std::vector<std::byte> tiny(100), nothing;
  EXPECT_THAT(ErrorOf([&] { UndoFilters(deflate, 0, std::size_t{1} << 32, tiny, nothing); }).message(),
              HasSubstr("too short for what it should inflate to"));
  EXPECT_EQ(nothing.capacity(), 0u);
  std::vector<std::byte> stored(64), values;
  UndoFilters(deflate, 1, 64, stored, values);  // this chunk was stored without the filter
  EXPECT_EQ(values.size(), 64u);
  EXPECT_FALSE(CanUndo(std::vector<Hdf5Filter>{{32000, "lzf", {}}}));
  EXPECT_FALSE(CanUndo(std::vector<Hdf5Filter>{{kShuffleFilter, "shuffle", {0}}}));
}

TEST(Hdf5Batches, AreTheSameWhateverTheThreads) {
  const test::TempDirectory directory;
  MakeChunkedHdf5(directory / "a.h5", {{64, 4}, {4, 4}, true, true});
  std::vector<std::vector<std::byte>> seen;
  for (const int threads : {1, 4}) {
    BatchOptions options;
    options.fields = {{"values", {}, Shape{2, 2}, {}}, {"values", {}, {}, {Cast{ElementType::kFloat32}}}};
    options.batch = 16;
    options.threads = threads;
    auto reader = BatchReader::Open(directory.path(), options);
    auto& bytes = seen.emplace_back();
    while (const auto* batch = reader.Next()) {
      for (const auto& field : batch->fields) bytes.insert(bytes.end(), field.values.begin(), field.values.end());
      for (std::size_t i = 0; i < 16; ++i) {
        std::int16_t first = 0;
        std::memcpy(&first, batch->fields[0].values.data() + i * 8, 2);
        EXPECT_EQ(static_cast<std::uint64_t>(first), batch->records[i] * 4);
      }
    }
  }
  EXPECT_EQ(seen[0].size(), 64u * 24);
  EXPECT_EQ(seen[0], seen[1]);
}

TEST(Hdf5Batches, RefuseWhatTheFilesDoNotHave) {
  const test::TempDirectory directory;
  MakeChunkedHdf5(directory / "a.h5", {});
  BatchOptions options;
  const auto refusal = [&] {
    return std::string(ErrorOf([&] { BatchReader::Open(directory.path(), options); }).what());
  };
  options.fields = {{"value", {}, {}, {}}};
  EXPECT_THAT(refusal(), HasSubstr("no field 'value'; it has: values"));
  options.fields = {{"values", ElementType::kFloat32, {}, {}}};
  EXPECT_THAT(refusal(), HasSubstr("has int16 [4], not float32 [4]"));
  options.fields = {{"values", {}, Shape{3}, {}}};
  EXPECT_THAT(refusal(), HasSubstr("has int16 [4], not int16 [3]"));
  options.fields = {{"values", {}, Shape{3, 2}, {}}};
  EXPECT_THAT(refusal(), HasSubstr("has int16 [4], not int16 [3, 2]"));
  options.fields = {{"values", {}, {}, {}}};
  options.payloads = true;
  EXPECT_THAT(refusal(), HasSubstr("read field by field"));
  options.fields.clear();
  EXPECT_THAT(refusal(), HasSubstr("read field by field"));
}

}  // namespace
}  // namespace slipway::staging
