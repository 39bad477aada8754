#include "staging/formats/tfrecord.h"

#include <gmock/gmock.h>

#include "core/files.h"
#include "staging/formats/tfrecord_frame.h"
#include "tests/staging/formats_support.h"
#include "tests/support/temp_directory.h"

namespace slipway::staging {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Reads every record; what it threw, or "".
std::string ReadAll(const std::filesystem::path& path) {
  try {
    const TfrecordFile file(path);
    for (std::uint64_t i = 0; i < file.record_count(); ++i) file.Record(i);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(Tfrecord, ReadsWhatItWrote) {
  const test::TempDirectory directory;
  const std::string large(3 << 20, 'x');
  MakeTfrecords(directory / "a", {"first", "", large});
  const TfrecordFile file(directory / "a");
  ASSERT_EQ(file.record_count(), 3u);
  EXPECT_EQ(TextOf(file.Record(0)), "first");
  EXPECT_EQ(TextOf(file.Record(1)), "");
  EXPECT_EQ(TextOf(file.Record(2)), large);
  EXPECT_THAT(file.offsets(), ElementsAre(0, 21, 37));
}

TEST(Tfrecord, HasTheLayoutOfTheFormat) {
  const test::TempDirectory directory;
  // RFC 3720's test value: crc32c("123456789") = e3069283.
  const auto bytes = MakeTfrecords(directory / "a", {"123456789"});
  const std::uint32_t masked = ((0xe3069283u >> 15) | (0xe3069283u << 17)) + 0xa282ead8u;
  std::string footer;
  for (int i = 0; i < 4; ++i) footer.push_back(static_cast<char>(masked >> (8 * i)));
  EXPECT_EQ(bytes.substr(0, 8), std::string("\x09\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(bytes.substr(12), "123456789" + footer);
}

TEST(Tfrecord, AnEmptyFileHasNoRecords) {
  const test::TempDirectory directory;
  WriteFile(directory / "a", "");
  EXPECT_EQ(TfrecordFile(directory / "a").record_count(), 0u);
}

TEST(Tfrecord, EveryTruncationInsideARecordIsAnError) {
  const test::TempDirectory directory;
  const auto whole = MakeTfrecords(directory / "a", {"one", "three"});
  const std::size_t border = 12 + 3 + 4;
  for (std::size_t size = 1; size < whole.size(); ++size) {
    WriteFile(directory / "b", whole.substr(0, size));
    const auto message = ReadAll(directory / "b");
    if (size == border) {
      EXPECT_EQ(message, "");  // framing cannot see it: manifests keep size and count
    } else {
      const auto place = size < border ? "record 0 at byte 0" : "record 1 at byte 19";
      EXPECT_THAT(message, AllOf(HasSubstr("/b'"), HasSubstr(place), HasSubstr("the file ends"))) << size;
    }
  }
}

TEST(Tfrecord, EveryFlippedBitIsAnError) {
  const test::TempDirectory directory;
  const auto whole = MakeTfrecords(directory / "a", {"one", "", "three"});
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    WriteFile(directory / "b", WithBitFlipped(whole, bit));
    EXPECT_NE(ReadAll(directory / "b"), "") << bit;
  }
}

TEST(Tfrecord, ADamagedRecordDoesNotHideTheOthers) {
  const test::TempDirectory directory;
  const auto whole = MakeTfrecords(directory / "a", {"one", "three"});
  WriteFile(directory / "b", WithBitFlipped(whole, (19 + 12) * 8));
  const TfrecordFile file(directory / "b");
  EXPECT_EQ(TextOf(file.Record(0)), "one");
  const auto error = ErrorOf([&] { file.Record(1); });
  EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
  EXPECT_THAT(error.message(), AllOf(HasSubstr("record 1 at byte 19"), HasSubstr("expected masked CRC32C")));
}

TEST(Tfrecord, ALengthBeyondTheFileIsAnErrorWhateverItsSize) {
  const test::TempDirectory directory;
  for (const std::uint64_t length : {100ull, 1ull << 40, ~0ull, ~0ull - 11, ~0ull - 15, ~0ull - 3}) {
    const auto header = MakeTfrecordHeader(length);
    WriteFile(directory / "a", TextOf(header) + "0123456789");
    EXPECT_THAT(ReadAll(directory / "a"), HasSubstr("ends after 10 bytes")) << length;
  }
}

TEST(Tfrecord, ACompressedFileIsToldAsSuch) {
  const test::TempDirectory directory;
  for (const std::string rest : {"", "\x08\x08 more than twelve bytes"}) {
    WriteFile(directory / "a", "\x1f\x8b" + rest);
    const auto error = ErrorOf([&] { TfrecordFile(directory / "a"); });
    EXPECT_THAT(error.message(), HasSubstr("gzip-compressed"));
    EXPECT_THAT(error.next_step(), HasSubstr("decompress"));
  }
}

TEST(Tfrecord, ALengthThatLooksLikeGzipIsRead) {
  const test::TempDirectory directory;
  const std::string payload(0x8b1f, 'x');
  MakeTfrecords(directory / "a", {payload});
  EXPECT_EQ(TextOf(TfrecordFile(directory / "a").Record(0)), payload);
}

TEST(Tfrecord, ADirectoryIsNotAFileOfRecords) {
  const test::TempDirectory directory;
  EXPECT_THAT(ErrorOf([&] { TfrecordFile{directory.path()}; }).message(), HasSubstr("not a regular file"));
}

}  // namespace
}  // namespace slipway::staging
