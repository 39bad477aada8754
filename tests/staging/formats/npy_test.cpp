#include "staging/formats/npy.h"

#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "core/files.h"
#include "staging/formats/image_header.h"
#include "staging/formats/table_file.h"
#include "tests/staging/formats_support.h"
#include "tests/staging/numpy_support.h"
#include "tests/support/temp_directory.h"

namespace slipway::staging {
namespace {

using ::testing::HasSubstr;

TEST(Npy, ReadsTheOtherByteOrder) {
  const test::TempDirectory directory;
  WriteFile(directory / "a.npy", NpyText(">u4", "(1,)", std::string("\x01\x02\x03\x04")));
  const NpyFile file(directory / "a.npy");
  std::uint32_t value = 0;
  std::memcpy(&value, file.arrays().at(0).values.data(), sizeof value);
  EXPECT_EQ(value, 0x01020304u);
  EXPECT_EQ(file.arrays()[0].name, "a");
}

TEST(Npz, ReadsStoredAndDeflatedMembers) {
  const test::TempDirectory directory;
  for (const bool deflated : {false, true}) {
    WriteFile(directory / "a.npz",
              ZipText({{"image.npy", NpyText("|u1", "(2, 2)", "abcd")}, {"label.npy", NpyText("|i1", "(2,)", "xy")}},
                      deflated));
    const NpyFile file(directory / "a.npz");
    ASSERT_EQ(file.arrays().size(), 2u);
    EXPECT_EQ(file.arrays()[0].name, "image");
    EXPECT_EQ(TextOf(file.arrays()[0].values), "abcd");
    EXPECT_EQ(TextOf(file.arrays()[1].values), "xy");
  }
}

TEST(Npz, FindsDamagedValues) {
  const test::TempDirectory directory;
  for (const bool deflated : {false, true}) {
    const auto whole = ZipText({{"a.npy", NpyText("|u1", "(4,)", "abcd")}}, deflated);
    // From the content on: the local header repeats what the directory says.
    // The first bit of a deflated one only says that no block follows: its values are whole, as their CRC proves.
    for (std::size_t bit = 35 * 8 + (deflated ? 1 : 0); bit < 60 * 8; ++bit) {
      WriteFile(directory / "a.npz", WithBitFlipped(whole, bit));
      EXPECT_THROW(NpyFile(directory / "a.npz"), Error) << bit;
    }
  }
}

TEST(Npz, NeverCrashesOnDamage) {
  const test::TempDirectory directory;
  const auto whole = ZipText({{"a.npy", NpyText("|u1", "(4,)", "abcd")}}, true);
  const auto read = [&](const std::string& bytes) {
    WriteFile(directory / "a.npz", bytes);
    try {
      NpyFile file(directory / "a.npz");
    } catch (const Error&) {
      // Named; what it says is told elsewhere.
    }
  };
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) read(WithBitFlipped(whole, bit));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    WriteFile(directory / "a.npz", whole.substr(0, size));
    EXPECT_THROW(NpyFile(directory / "a.npz"), Error) << size;
  }
}

TEST(Npz, HoldsNoMoreThanItAnnounces) {
  const test::TempDirectory directory;
  auto bomb = ZipText({{"a.npy", NpyText("|u1", "(1000000,)", std::string(1'000'000, 'x'))}}, true);
  const auto entry = bomb.rfind("PK\x01\x02");
  bomb.replace(entry + 24, 4, std::string("\x64\0\0\0", 4));  // announces 100 bytes
  WriteFile(directory / "a.npz", bomb);
  EXPECT_THAT(ErrorOf([&] { NpyFile(directory / "a.npz"); }).message(), HasSubstr("do not agree"));
  bomb.replace(22, 4, std::string("\x64\0\0\0", 4));  // so does its own header
  WriteFile(directory / "a.npz", bomb);
  EXPECT_THAT(ErrorOf([&] { NpyFile(directory / "a.npz"); }).message(), HasSubstr("announces 100 bytes"));
}

TEST(NumpyTable, IsAnErrorWhenItsFileBecomesShorter) {
  const test::TempDirectory directory;
  const std::string values(1 << 20, 'v');  // pages of any size
  WriteFile(directory / "a.npy", NpyText("|u1", "(2, 524288)", values));
  WriteFile(directory / "a.npz", ZipText({{"a.npy", NpyText("|u1", "(2, 524288)", values)}}, false));
  for (const auto* name : {"a.npy", "a.npz"}) {
    const auto table = OpenNumpyTable(directory / name);
    std::vector<std::byte> buffer;
    EXPECT_EQ(TextOf(table->Value(1, 0, buffer)), values.substr(524288)) << name;
    std::filesystem::resize_file(directory / name, 1);
    EXPECT_THAT(ErrorOf([&] { table->Value(1, 0, buffer); }).message(), HasSubstr("become shorter")) << name;
  }
}

TEST(Npz, SaysWhichMemberItCannotRead) {
  const test::TempDirectory directory;
  const auto whole = ZipText({{"a.npy", NpyText("|u1", "(4,)", "abcd")}}, false);
  const auto entry = whole.rfind("PK\x01\x02");
  auto encrypted = whole, packed = whole;
  encrypted[entry + 8] = '\1';
  packed[entry + 10] = '\xc';
  const auto path = (directory / "a.npz").string();
  for (const auto& [bytes, words] : {std::pair(encrypted, "a.npy' is encrypted"),
                                     std::pair(packed, "a.npy' is compressed by method 12; stored and deflated"),
                                     std::pair(whole.substr(0, entry), "torn zip file: it has no directory")}) {
    WriteFile(directory / "a.npz", bytes);
    const auto error = ErrorOf([&] { NpyFile(directory / "a.npz"); });
    EXPECT_THAT(error.message(), HasSubstr(words));
    EXPECT_THAT(error.next_step(), HasSubstr(bytes.size() == whole.size() ? "numpy.savez" : "copy it again"));
  }
}

TEST(ImageHeader, GivesTheSizeOfPngAndJpeg) {
  const auto png = ReadImageSize(BytesOf(PngText(3, 7)), "a.png");
  EXPECT_EQ(png.height, 3u);
  EXPECT_EQ(png.width, 7u);
  const auto jpeg = ReadImageSize(BytesOf(JpegText(300, 500)), "a.jpg");
  EXPECT_EQ(jpeg.height, 300u);
  EXPECT_EQ(jpeg.width, 500u);
}

TEST(ImageHeader, RefusesTornAndForeignImages) {
  for (const auto& whole : {PngText(3, 7).substr(0, 24), JpegText(300, 500).substr(0, 40)}) {
    for (std::size_t size = 0; size < 24; ++size) {
      EXPECT_THROW(ReadImageSize(BytesOf(whole.substr(0, size)), "a"), Error) << size;
    }
  }
  EXPECT_THAT(ErrorOf([] { ReadImageSize(BytesOf("BMW, and other words"), "a"); }).message(),
              HasSubstr("neither JPEG"));
  EXPECT_THAT(ErrorOf([] { ReadImageSize(BytesOf(PngText(0, 7)), "a"); }).message(), HasSubstr("0x7"));
}

}  // namespace
}  // namespace slipway::staging
