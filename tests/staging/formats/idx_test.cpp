#include "staging/formats/idx.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include "core/files.h"
#include "tests/staging/formats_support.h"
#include "tests/support/temp_directory.h"

namespace slipway::staging {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void WriteGz(const std::filesystem::path& path, const std::string& content) {
  const gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
  gzclose(file);
}

std::string MessageOf(const std::filesystem::path& path) {
  return ErrorOf([&] { ReadIdx(path); }).message();
}

TEST(Idx, ReadsPlainAndCompressedFiles) {
  const test::TempDirectory directory;
  const auto content = IdxBytes({2, 1, 3}, "abcdef");
  WriteFile(directory / "plain", content);
  WriteGz(directory / "packed.gz", content);
  for (const auto name : {"plain", "packed.gz"}) {
    const auto array = ReadIdx(directory / name);
    EXPECT_THAT(array.shape, ElementsAre(2, 1, 3));
    EXPECT_EQ(TextOf(array.Record(1)), "def");
  }
}

TEST(Idx, EveryTruncationIsAnError) {
  const test::TempDirectory directory;
  const auto content = IdxBytes({2, 3}, "abcdef");
  WriteGz(directory / "whole.gz", content);
  const auto packed = ReadFile(directory / "whole.gz");
  for (std::size_t size = 0; size < content.size(); ++size) {
    WriteFile(directory / "torn", content.substr(0, size));
    EXPECT_THROW(ReadIdx(directory / "torn"), Error) << size;
  }
  for (std::size_t size = 0; size < packed.size(); ++size) {
    WriteFile(directory / "torn.gz", packed.substr(0, size));
    EXPECT_THROW(ReadIdx(directory / "torn.gz"), Error) << size;
  }
}

TEST(Idx, ADamagedGzipStreamIsAnError) {
  const test::TempDirectory directory;
  WriteGz(directory / "a.gz", IdxBytes({6}, "abcdef"));
  const auto packed = ReadFile(directory / "a.gz");
  WriteFile(directory / "a.gz", WithBitFlipped(packed, (packed.size() - 6) * 8));  // in the stream's CRC
  EXPECT_THAT(MessageOf(directory / "a.gz"), HasSubstr("gzip stream is damaged"));
}

TEST(Idx, ABoastfulHeaderCostsNoMemory) {
  const test::TempDirectory directory;
  WriteFile(directory / "a", IdxBytes({0xffffffff, 0xffff}, "abc"));
  EXPECT_THAT(MessageOf(directory / "a"), HasSubstr("found 3"));
  WriteFile(directory / "b", IdxBytes({0xffffffff, 0xffffffff, 0xffffffff}, "abc"));
  EXPECT_THAT(MessageOf(directory / "b"), HasSubstr("too large"));
}

TEST(Idx, SaysWhatIsWrong) {
  const test::TempDirectory directory;
  const auto file = directory / "a";
  WriteFile(file, "text that is no idx");
  EXPECT_THAT(MessageOf(file), HasSubstr("not an idx file"));
  WriteFile(file, std::string("\0\0\x0d\x01\0\0\0\0", 8));
  EXPECT_THAT(MessageOf(file), HasSubstr("idx type 0x0d"));
  WriteFile(file, std::string("\0\0\x08\0", 4));
  EXPECT_THAT(MessageOf(file), HasSubstr("0 dimensions"));
  WriteFile(file, IdxBytes({3}, "abcd"));
  EXPECT_THAT(MessageOf(file), HasSubstr("more bytes"));
  EXPECT_THAT(MessageOf(directory / "missing"), HasSubstr("cannot open"));
}

}  // namespace
}  // namespace slipway::staging
