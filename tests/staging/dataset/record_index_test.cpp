#include "staging/dataset/record_index.h"

#include <gmock/gmock.h>

#include "core/crc32c.h"
#include "core/error.h"
#include "tests/staging/formats_support.h"

namespace slipway::staging {
namespace {

using ::testing::HasSubstr;

std::vector<RecordIndex> ThreeFiles() { return {{{0, 16, 1000}, 5000}, {{}, 0}, {{0}, 16 + 300}}; }

TEST(RecordIndex, ComesBackAsItWasWritten) {
  EXPECT_EQ(DecodeRecordIndices(EncodeRecordIndices(ThreeFiles())), ThreeFiles());
  EXPECT_TRUE(DecodeRecordIndices(EncodeRecordIndices({})).empty());
}

TEST(RecordIndex, RefusesOffsetsThatLeaveNoRoomForAFrame) {
  const std::vector<RecordIndex> overlapping{{{0, 15}, 100}};
  EXPECT_EQ(ErrorOf([&] { EncodeRecordIndices(overlapping); }).kind(), ErrorKind::kInternal);
}

TEST(RecordIndex, NoticesEveryFlippedBitAndEveryTornEnd) {
  const auto whole = EncodeRecordIndices(ThreeFiles());
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    EXPECT_THAT(ErrorOf([&] { DecodeRecordIndices(WithBitFlipped(whole, bit)); }).message(), HasSubstr("damaged"))
        << bit;
  }
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THAT(ErrorOf([&] { DecodeRecordIndices(whole.substr(0, size)); }).message(), HasSubstr("damaged")) << size;
  }
}

/// `body` between a right beginning and a right CRC: what somebody would write on purpose.
std::string Signed(std::string_view body) {
  auto text = std::string("slipway.index/1\n").append(body);
  const auto crc = Crc32c(text);
  for (int shift = 0; shift < 32; shift += 8) text.push_back(static_cast<char>(crc >> shift));
  return text;
}

TEST(RecordIndex, BelievesNoNumberThatTheBytesCannotHold) {
  const std::string huge = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
  for (const auto& body : {huge, "\x01" + huge, "\x01\x01" + huge, std::string("\x01\x02\x05"),
                           std::string("\x01\x01\x05\x07"), std::string(12, '\xff')}) {
    EXPECT_THAT(ErrorOf([&] { DecodeRecordIndices(Signed(body)); }).message(), HasSubstr("damaged"));
  }
}

}  // namespace
}  // namespace slipway::staging
