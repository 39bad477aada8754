#include "staging/formats/stream_check.h"

#include <gmock/gmock.h>

#include "core/files.h"
#include "staging/formats/detect.h"
#include "staging/formats/hdf5.h"
#include "tests/staging/formats_support.h"
#include "tests/staging/hdf5_support.h"
#include "tests/support/temp_directory.h"

namespace slipway::staging {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

StreamSummary CheckInPieces(DataFormat format, const std::string& content, std::size_t piece,
                            RecordContents contents = RecordContents::kChecked) {
  const auto check = MakeStreamCheck(format, "data", contents);
  const auto bytes = BytesOf(content);
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    check->Update(bytes.subspan(at, std::min(piece, bytes.size() - at)));
  }
  return check->Finish();
}

std::string SmallHdf5(const std::filesystem::path& path) {
  const auto file = CreateHdf5(path);
  WriteDataset(*file, {"label", NumberType::kUint8, {4}}, BytesOf("abcd"));
  file->Close();
  return ReadFile(path);
}

/// A superblock of version 0 or 1 with 8-byte offsets that announces `size`, and filler up to `actual` bytes.
std::string OldSuperblock(int version, std::size_t size, std::size_t actual) {
  std::string file("\x89HDF\r\n\x1a\n", 8);
  file += std::string{static_cast<char>(version), 0, 0, 0, 0, 8, 8, 0};
  file.resize(version == 0 ? 24 : 28, '\0');
  file.append(16, '\0');
  for (int i = 0; i < 8; ++i) file.push_back(static_cast<char>(size >> (8 * i)));
  file.resize(actual, '\0');
  return file;
}

TEST(StreamCheck, FindsEveryRecordWhereverThePiecesEnd) {
  const test::TempDirectory directory;
  const auto content = MakeTfrecords(directory / "a", {"one", "", "a longer third record"});
  for (std::size_t piece = 1; piece <= content.size(); ++piece) {
    const auto summary = CheckInPieces(DataFormat::kTfrecord, content, piece);
    EXPECT_EQ(summary.records, 3u);
    EXPECT_THAT(summary.record_offsets, ElementsAre(0, 19, 35));
  }
}

TEST(StreamCheck, FindsEveryFlippedBit) {
  const test::TempDirectory directory;
  const auto content = MakeTfrecords(directory / "a", {"one", "", "three"});
  for (std::size_t bit = 0; bit < content.size() * 8; ++bit) {
    EXPECT_THROW(CheckInPieces(DataFormat::kTfrecord, WithBitFlipped(content, bit), 7), Error) << bit;
  }
}

TEST(StreamCheck, LeavesWhatRecordsHoldToTheReaderAndFindsEachOfThemAllTheSame) {
  const test::TempDirectory directory;
  const auto content = MakeTfrecords(directory / "a", {"one", "", "three"});
  const auto check = [&](const std::string& damaged) {
    return CheckInPieces(DataFormat::kTfrecord, damaged, 7, RecordContents::kLeft);
  };
  for (std::size_t bit = 0; bit < content.size() * 8; ++bit) {
    const auto at = bit / 8;
    const bool in_a_header = at < 12 || (at >= 19 && at < 31) || (at >= 35 && at < 47);
    const auto damaged = WithBitFlipped(content, bit);
    if (in_a_header) {
      EXPECT_THROW(check(damaged), Error) << bit;
    } else {
      EXPECT_THAT(check(damaged).record_offsets, ElementsAre(0, 19, 35)) << bit;
    }
  }
}

TEST(StreamCheck, FindsEveryTruncationInsideARecord) {
  const test::TempDirectory directory;
  const auto content = MakeTfrecords(directory / "a", {"one", "three"});
  for (std::size_t size = 1; size < content.size(); ++size) {
    if (size == 19) continue;  // a border between records
    const auto error = ErrorOf([&] { CheckInPieces(DataFormat::kTfrecord, content.substr(0, size), 5); });
    EXPECT_THAT(error.message(), AllOf(HasSubstr("'data': record"), HasSubstr("the file ends after"))) << size;
  }
}

TEST(StreamCheck, AcceptsAWholeHdf5File) {
  const test::TempDirectory directory;
  const auto content = SmallHdf5(directory / "a.h5");
  EXPECT_FALSE(CheckInPieces(DataFormat::kHdf5, content, 1000).records);
}

TEST(StreamCheck, FindsEveryTruncationOfAnHdf5File) {
  const test::TempDirectory directory;
  const auto content = SmallHdf5(directory / "a.h5");
  for (std::size_t size = 0; size < content.size(); ++size) {
    EXPECT_THROW(CheckInPieces(DataFormat::kHdf5, content.substr(0, size), 4096), Error) << size;
  }
}

TEST(StreamCheck, NamesTheSizesOfATornHdf5File) {
  for (const int version : {0, 1}) {
    EXPECT_NO_THROW(CheckInPieces(DataFormat::kHdf5, OldSuperblock(version, 500, 500), 64));
    const auto torn = ErrorOf([&] { CheckInPieces(DataFormat::kHdf5, OldSuperblock(version, 500, 400), 64); });
    EXPECT_THAT(torn.message(), HasSubstr("truncated: its HDF5 superblock expects 500 bytes, it has 400"));
    const auto padded = ErrorOf([&] { CheckInPieces(DataFormat::kHdf5, OldSuperblock(version, 500, 501), 64); });
    EXPECT_THAT(padded.message(), HasSubstr("too long"));
  }
}

TEST(StreamCheck, FindsTheSuperblockBehindAUserBlock) {
  for (const std::size_t block : {512, 1024, 4096, 65536}) {
    for (const std::size_t piece : {1, 100, 1 << 20}) {
      EXPECT_NO_THROW(CheckInPieces(DataFormat::kHdf5, std::string(block, 'u') + OldSuperblock(0, 488, 488), piece));
    }
  }
}

TEST(StreamCheck, FindsNoSuperblockWhereNoneCanLie) {
  const auto file = std::string(768, 'u') + OldSuperblock(0, 488, 488);
  const auto error = ErrorOf([&] { CheckInPieces(DataFormat::kHdf5, file, 100); });
  EXPECT_THAT(error.message(), HasSubstr("is not an HDF5 file"));
}

TEST(StreamCheck, RefusesAnHdf5FileThatWasNotClosed) {
  const test::TempDirectory directory;
  auto content = SmallHdf5(directory / "a.h5");
  content[8] = 3;   // superblock version 3 ...
  content[11] = 1;  // ... open for writing
  const auto error = ErrorOf([&] { CheckInPieces(DataFormat::kHdf5, content, 4096); });
  EXPECT_THAT(error.message(), HasSubstr("not closed"));
}

TEST(StreamCheck, TakesRawBytesAsTheyAre) { EXPECT_FALSE(CheckInPieces(DataFormat::kRaw, "anything", 3).records); }

TEST(DetectFormat, LooksIntoTheFileFirst) {
  const test::TempDirectory directory;
  MakeTfrecords(directory / "records.h5", {"one"});
  SmallHdf5(directory / "data.tfrecord");
  EXPECT_EQ(DetectFormat(directory / "records.h5"), DataFormat::kTfrecord);
  EXPECT_EQ(DetectFormat(directory / "data.tfrecord"), DataFormat::kHdf5);
}

TEST(DetectFormat, GoesByTheNameWhereTheContentIsDamaged) {
  const test::TempDirectory directory;
  WriteFile(directory / "a.tfrecord", "damaged from the start");
  WriteFile(directory / "a.hdf5", "");
  WriteFile(directory / "a.txt", "damaged from the start");
  EXPECT_EQ(DetectFormat(directory / "a.tfrecord"), DataFormat::kTfrecord);
  EXPECT_EQ(DetectFormat(directory / "a.hdf5"), DataFormat::kHdf5);
  EXPECT_EQ(DetectFormat(directory / "a.txt"), DataFormat::kRaw);
}

TEST(DataFormat, NamesAreReadBack) {
  for (const auto format : {DataFormat::kTfrecord, DataFormat::kHdf5, DataFormat::kRaw}) {
    EXPECT_EQ(FromWord<DataFormat>(WordOf(format)), format);
  }
  EXPECT_FALSE(FromWord<DataFormat>("parquet"));
}

}  // namespace
}  // namespace slipway::staging
