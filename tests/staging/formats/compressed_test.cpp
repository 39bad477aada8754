// TFRecord files inside gzip and zlib: the stream check, and what it tells of damage.
#include <gmock/gmock.h>

#include "bench/staging/checked_blocks.h"
#include "core/crc32c.h"
#include "core/files.h"
#include "staging/formats/detect.h"
#include "staging/formats/stream_check.h"
#include "tests/staging/formats_support.h"
#include "tests/support/temp_directory.h"

namespace slipway::staging {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

StreamSummary CheckInPieces(const std::string& content, std::size_t piece) {
  const auto check = MakeStreamCheck(DataFormat::kTfrecord, "data");
  const auto bytes = BytesOf(content);
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    check->Update(bytes.subspan(at, std::min(piece, bytes.size() - at)));
  }
  return check->Finish();
}

std::string ThreeRecords() { return TfrecordText({"one", "", "a longer third record"}); }

/// Message and context in one text.
std::string AllWords(const Error& error) { return error.what(); }

/// It was a map, and a signal ended the process.
TEST(FeedFile, AFileThatBecomesShorterMeanwhileIsTorn) {
  const test::TempDirectory directory;
  const auto path = directory / "a.tfrecord";
  WriteFile(path, TfrecordText({std::string(5 << 20, 'x')}));
  const auto check = MakeStreamCheck(DataFormat::kTfrecord, path);
  FeedFile(path, *check, [&](std::uint64_t) { std::filesystem::resize_file(path, 2 << 20); });
  EXPECT_THAT(ErrorOf([&] { check->Finish(); }).message(), AllOf(HasSubstr("a.tfrecord"), HasSubstr("ends")));
}

class Compressed : public ::testing::TestWithParam<Compression> {};

TEST_P(Compressed, RecordsAreFoundWhereverThePiecesEnd) {
  const auto content = Deflate(GetParam(), ThreeRecords());
  for (std::size_t piece = 1; piece <= content.size(); ++piece) {
    const auto summary = CheckInPieces(content, piece);
    EXPECT_EQ(summary.compression, GetParam());
    EXPECT_EQ(summary.records, 3u);
    EXPECT_EQ(summary.record_bytes, ThreeRecords().size());
    EXPECT_THAT(summary.record_offsets, ElementsAre(0, 19, 35));
  }
}

/// Bits that say nothing of the content: in gzip's header its time, its extra flags and the system it was made on; in
/// the last byte before the checksums what is left of it.
bool SaysNothing(Compression compression, std::size_t bit, std::size_t bits) {
  const bool gzip = compression == Compression::kGzip;
  const auto last = bits - (gzip ? 8 : 4) * 8;
  const bool in_header = (bit >= 4 * 8 && bit < 10 * 8) || bit == 3 * 8;
  return (gzip && in_header) || (bit >= last - 4 && bit < last);
}

TEST_P(Compressed, EveryFlippedBitIsFound) {
  const auto content = Deflate(GetParam(), ThreeRecords());
  for (std::size_t bit = 0; bit < content.size() * 8; ++bit) {
    if (SaysNothing(GetParam(), bit, content.size() * 8)) continue;
    EXPECT_THROW(CheckInPieces(WithBitFlipped(content, bit), 7), Error) << "bit " << bit % 8 << " of byte " << bit / 8;
  }
}

TEST_P(Compressed, EveryTornEndIsFound) {
  const auto content = Deflate(GetParam(), ThreeRecords());
  for (std::size_t size = 1; size < content.size(); ++size) {
    EXPECT_THROW(CheckInPieces(content.substr(0, size), 5), Error) << size;
  }
}

TEST_P(Compressed, BytesBehindTheEndAreFound) {
  const auto content = Deflate(GetParam(), ThreeRecords());
  for (const auto* more : {"x", "more than a byte", "\x1f\x8b"}) {
    for (const std::size_t piece : {1u, 1000u}) EXPECT_THROW(CheckInPieces(content + more, piece), Error) << more;
  }
}

TEST_P(Compressed, ADamagedRecordIsNamedWithItsOffset) {
  auto records = ThreeRecords();
  records[36 + 12] ^= 1;
  const auto error = ErrorOf([&] { CheckInPieces(Deflate(GetParam(), records), 9); });
  EXPECT_THAT(AllWords(error), AllOf(HasSubstr("'data': record 2 at byte 35"), HasSubstr(WordOf(GetParam()))));
}

TEST_P(Compressed, ATornStreamIsNamedWithTheRecord) {
  const auto content = Deflate(
      GetParam(), TfrecordText(std::vector<std::string>(50, std::string(100, 'x'))) + TfrecordText({NoiseOf(3000)}));
  const auto error = ErrorOf([&] { CheckInPieces(content.substr(0, content.size() - 100), 4096); });
  EXPECT_THAT(AllWords(error), AllOf(HasSubstr("is torn"), HasSubstr("in record 50 at byte 5800")));
}

TEST_P(Compressed, ARecordThatIsCutInsideAWholeStreamIsFound) {
  const auto records = ThreeRecords();
  const auto error = ErrorOf([&] { CheckInPieces(Deflate(GetParam(), records.substr(0, records.size() - 1)), 9); });
  EXPECT_THAT(error.message(), HasSubstr("record 2 at byte 35"));
}

TEST_P(Compressed, NoRecordsAreFine) { EXPECT_EQ(CheckInPieces(Deflate(GetParam(), ""), 3).records, 0u); }

TEST_P(Compressed, MuchMayComeOutOfLittle) {
  const auto content = Deflate(GetParam(), TfrecordText({std::string(5 << 20, '\0')}));
  EXPECT_LT(content.size(), 10'000u);
  EXPECT_EQ(CheckInPieces(content, 100).record_bytes, (5u << 20) + 16);
}

TEST_P(Compressed, TheFormatIsSeenWhateverTheName) {
  const test::TempDirectory directory;
  WriteFile(directory / "noise", Deflate(GetParam(), TfrecordText({NoiseOf(20'000)})));
  EXPECT_EQ(DetectFormat(directory / "noise"), DataFormat::kTfrecord);
  WriteFile(directory / "text", Deflate(GetParam(), "no records at all, but a long text"));
  EXPECT_EQ(DetectFormat(directory / "text"), DataFormat::kRaw);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Compressed, ::testing::Values(Compression::kGzip, Compression::kZlib),
                         [](const auto& kind) { return std::string(WordOf(kind.param)); });

TEST(CompressedGzip, MayHaveSeveralMembersCutAnywhere) {
  const auto records = ThreeRecords();
  const auto content = Deflate(Compression::kGzip, records.substr(0, 20)) + Deflate(Compression::kGzip, "") +
                       Deflate(Compression::kGzip, records.substr(20));
  for (std::size_t piece = 1; piece <= content.size(); ++piece) EXPECT_EQ(CheckInPieces(content, piece).records, 3u);
  EXPECT_THROW(CheckInPieces(content.substr(0, content.size() - 1), 10), Error);
}

TEST(CompressedGzip, MayBeFilledUpWithZeros) {
  const auto content = Deflate(Compression::kGzip, ThreeRecords());
  for (const std::size_t piece : {1, 7, 4096}) {
    EXPECT_EQ(CheckInPieces(content + std::string(1000, '\0'), piece).records, 3u);
    EXPECT_EQ(CheckInPieces(content + std::string(9, '\0') + content, piece).records, 6u);
    EXPECT_THROW(CheckInPieces(content + std::string(9, '\0') + "x", piece), Error);
  }
}

TEST(CompressedGzip, IsNotGuessedWhereRecordsBegin) {
  // A record of 0x8b1f bytes begins as gzip does.
  EXPECT_EQ(CheckInPieces(TfrecordText({std::string(0x8b1f, 'x')}), 100).compression, Compression::kNone);
}

TEST(CompressedZlib, IsNotGuessedFromTwoBytes) {
  const auto error = ErrorOf([] { CheckInPieces("\x78\x9c and then no zlib stream at all", 3); });
  EXPECT_THAT(error.message(), HasSubstr("record 0 at byte 0: expected masked CRC32C"));
}

TEST(DetectFormat, GoesByTheNameOfDamagedCompressedFiles) {
  const test::TempDirectory directory;
  WriteFile(directory / "a.tfrecord.gz", "damaged from the start");
  WriteFile(directory / "a.txt.gz", "damaged from the start");
  EXPECT_EQ(DetectFormat(directory / "a.tfrecord.gz"), DataFormat::kTfrecord);
  EXPECT_EQ(DetectFormat(directory / "a.txt.gz"), DataFormat::kRaw);
}

TEST(CheckedBlocks, GiveTheCrcOfEachBlockInOnePass) {
  const auto plain = TfrecordText({NoiseOf(100), "", NoiseOf(1000), NoiseOf(5)});
  for (const auto& content : {plain, Deflate(Compression::kGzip, plain)}) {
    for (const std::size_t piece : {1u, 10u, 64u, 333u, 5000u}) {
      CheckedBlocks blocks(MakeStreamCheck(DataFormat::kTfrecord, "data"), 64);
      for (std::size_t at = 0; at < content.size(); at += piece) blocks.Update(BytesOf(content.substr(at, piece)));
      const auto result = blocks.Finish();
      EXPECT_EQ(result.summary.records, 4u);
      ASSERT_EQ(result.crc32c.size(), (content.size() + 63) / 64);
      for (std::size_t i = 0; i < result.crc32c.size(); ++i) {
        EXPECT_EQ(result.crc32c[i], Crc32c(content.substr(i * 64, 64))) << i;
      }
    }
  }
}

}  // namespace
}  // namespace slipway::staging
