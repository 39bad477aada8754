#include "core/numpy_header.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "tests/support/numpy_text.h"

namespace slipway {
namespace {

using test::NpyText;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

NumpyHeader Parse(const std::string& bytes) { return ParseNumpyHeader(std::as_bytes(std::span(bytes)), "a.npy"); }

std::string MessageOf(const std::string& bytes) {
  try {
    Parse(bytes);
  } catch (const Error& error) {
    return error.message();
  }
  return "no error";
}

TEST(NumpyHeader, ReadsWhatNumpyWrites) {
  const auto header = Parse(NpyText("<i2", "(2, 3)", std::string(12, 'x')));
  EXPECT_EQ(header.kind, 'i');
  EXPECT_EQ(header.size, 2u);
  EXPECT_FALSE(header.swapped);
  EXPECT_THAT(header.shape, ElementsAre(2, 3));
  EXPECT_EQ(header.values_at, 128u);
  EXPECT_EQ(header.value_bytes, 12u);
  EXPECT_THAT(Parse(NpyText("|u1", "(3,)", "abc")).shape, ElementsAre(3));
  EXPECT_THAT(Parse(NpyText("<f8", "()", std::string(8, 'x'))).shape, IsEmpty());
  EXPECT_TRUE(Parse(NpyText(">f4", "(1,)", "1234")).swapped);
}

TEST(NumpyHeader, ReadsTheLongHeadersOfVersionsTwoAndThree) {
  const auto whole = NpyText("<i2", "(2, 3)", std::string(12, 'x'));
  for (const char version : {'\2', '\3'}) {
    auto text = whole.substr(0, 6) + version + whole.substr(7, 3) + std::string(2, '\0') + whole.substr(10);
    EXPECT_THAT(Parse(text).shape, ElementsAre(2, 3));
    text[11] = '\x7f';  // announces two gigabytes of header
    EXPECT_THAT(MessageOf(text), HasSubstr("ends inside its NumPy header"));
  }
  EXPECT_THAT(MessageOf(whole.substr(0, 6) + '\4' + whole.substr(7)), HasSubstr("unknown NumPy format 4"));
}

TEST(NumpyHeader, RefusesWhatItCannotRead) {
  EXPECT_THAT(MessageOf("no array"), HasSubstr("is no NumPy array"));
  EXPECT_THAT(MessageOf(NpyText("<c8", "(1,)", "12345678")), HasSubstr("type '<c8'"));
  EXPECT_THAT(MessageOf(NpyText("|O", "(1,)", "12345678")), HasSubstr("type '|O'"));
  EXPECT_THAT(MessageOf(NpyText("", "(1,)", "1")), HasSubstr("type ''"));
  EXPECT_THAT(MessageOf(NpyText("<f2", "(1,)", "12")), HasSubstr("type '<f2'"));
  auto structured = NpyText("<f4", "(1,)", "1234");
  structured.replace(structured.find("'<f4'"), 5, "[('x', '<f4')]");
  EXPECT_THAT(MessageOf(structured), HasSubstr("has a structured NumPy type"));
  EXPECT_THAT(MessageOf(NpyText("<i4", "(2,)", "1234")),
              HasSubstr("has 4 bytes of values, its NumPy header announces 8"));
  EXPECT_THAT(MessageOf(NpyText("|u1", "(4294967296, 4294967296)", "")), HasSubstr("too large"));
  EXPECT_THAT(MessageOf(NpyText("|u1", "(99999999999999999999,)", "")), HasSubstr("no numbers"));
  EXPECT_THAT(MessageOf(NpyText("|u1", "(-1,)", "")), HasSubstr("no numbers"));
  EXPECT_THAT(MessageOf(NpyText("|u1", "(2, 2)", "abcd", "True")), HasSubstr("Fortran order"));
}

TEST(NumpyHeader, RefusesEveryTornOne) {
  const auto whole = NpyText("|u1", "(4,)", "abcd");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THROW(Parse(whole.substr(0, size)), Error) << size;
  }
}

}  // namespace
}  // namespace slipway
