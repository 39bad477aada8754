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

class CompressedTfrecord : public ::testing::TestWithParam<Compression> {};

TEST_P(CompressedTfrecord, IsWrittenAndRead) {
  const test::TempDirectory directory;
  const std::string large(3 << 20, 'x');
  TfrecordWriter writer(directory / "a", GetParam());
  for (const auto& payload : {std::string("one"), std::string(), large}) writer.Write(payload);
  writer.Close();
  EXPECT_LT(std::filesystem::file_size(directory / "a"), 10'000u);
  const TfrecordFile file(directory / "a");
  EXPECT_EQ(file.compression(), GetParam());
  EXPECT_EQ(file.byte_count(), std::filesystem::file_size(directory / "a"));
  EXPECT_THAT(file.offsets(), ElementsAre(0, 19, 35));
  EXPECT_EQ(TextOf(file.Record(0)), "one");
  EXPECT_EQ(TextOf(file.Record(2)), large);
}

TEST_P(CompressedTfrecord, IsRefusedWhenItInflatesToMoreThanAllowed) {
  const test::TempDirectory directory;
  WriteFile(directory / "bomb", Deflate(GetParam(), TfrecordText({std::string(10 << 20, 'x')})));
  EXPECT_NO_THROW(TfrecordFile(directory / "bomb", 11 << 20));
  const auto error = ErrorOf([&] { TfrecordFile(directory / "bomb", 1 << 20); });
  EXPECT_THAT(error.message(), HasSubstr("bomb' inflates to more than 1.05 MB"));
}

TEST_P(CompressedTfrecord, IsNotHeldWhenItHoldsNoRecords) {
  const test::TempDirectory directory;
  WriteFile(directory / "zeros", Deflate(GetParam(), std::string(10 << 20, '\0')));
  EXPECT_THAT(ReadAll(directory / "zeros"), HasSubstr("record 0 at byte 0"));
}

TEST_P(CompressedTfrecord, IsRefusedWhenTorn) {
  const test::TempDirectory directory;
  const auto content = Deflate(GetParam(), TfrecordText({"one", "two"}));
  for (std::size_t size = 1; size < content.size(); ++size) {
    WriteFile(directory / "a", content.substr(0, size));
    EXPECT_NE(ReadAll(directory / "a"), "") << size;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, CompressedTfrecord, ::testing::Values(Compression::kGzip, Compression::kZlib),
                         [](const auto& kind) { return std::string(WordOf(kind.param)); });

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
