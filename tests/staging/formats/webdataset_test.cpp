#include "staging/formats/webdataset.h"

#include <gmock/gmock.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "core/files.h"
#include "staging/formats/table_file.h"
#include "tests/staging/formats_support.h"
#include "tests/staging/numpy_support.h"
#include "tests/staging/tar_support.h"
#include "tests/support/temp_directory.h"

namespace slipway::staging {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kShard =
    TarText({{"a/1.jpg", "first"}, {"a/1.cls", "3\n"}, {"a/2.jpg", std::string(700, 'x')}, {"a/2.cls", "-4"}});

StreamSummary CheckInPieces(const std::string& bytes, std::size_t piece) {
  const auto check = MakeStreamCheck(DataFormat::kWebdataset, "s.tar");
  for (std::size_t at = 0; at < bytes.size(); at += piece)
    check->Update(BytesOf(bytes).subspan(at).first(std::min(piece, bytes.size() - at)));
  return check->Finish();
}

/// What a shard is refused for: the message, then the next step.
std::string Refused(const std::string& bytes) {
  const auto error = ErrorOf([&] { CheckInPieces(bytes, 100); });
  EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
  EXPECT_FALSE(error.next_step().empty());
  return error.message();
}

TEST(Webdataset, GroupsMembersByTheirKey) {
  for (const std::size_t piece : {1u, 100u, 512u, 100'000u}) EXPECT_EQ(CheckInPieces(kShard, piece).records, 2u);
  EXPECT_EQ(CheckInPieces(TarEnd(), 512).records, 0u);
}

TEST(Webdataset, ReadsNumbersBytesKeysAndWholeSamples) {
  const test::TempDirectory directory;
  WriteFile(directory / "s.tar", kShard);
  const auto file = OpenWebdataset({directory / "s.tar"});
  ASSERT_EQ(file->record_count(), 2u);
  ASSERT_EQ(file->fields().size(), 3u);
  EXPECT_EQ(file->fields()[0].name, "__key__");
  EXPECT_EQ(file->fields()[1], (TableField{"cls", NumberType::kInt64, {}, false}));
  EXPECT_EQ(file->fields()[2], (TableField{"jpg", NumberType::kUint8, {}, true}));
  std::vector<std::byte> buffer;
  EXPECT_EQ(TextOf(file->Value(1, 0, buffer)), "a/2");
  std::int64_t label = 0;
  std::memcpy(&label, file->Value(1, 1, buffer).data(), sizeof label);
  EXPECT_EQ(label, -4);
  EXPECT_EQ(TextOf(file->Value(1, 2, buffer)), std::string(700, 'x'));
  EXPECT_EQ(TextOf(*file->Whole(0, buffer)), TarMemberText("a/1.jpg", "first") + TarMemberText("a/1.cls", "3\n"));
}

/// The index that staging writes of a shard.
RecordIndex IndexOf(const std::string& shard) {
  auto summary = CheckInPieces(shard, 4096);
  return {std::move(summary.record_offsets), summary.record_bytes};
}

TEST(Webdataset, TheIndexOfAShardSaysWhereSamplesBegin) {
  EXPECT_EQ(IndexOf(kShard), (RecordIndex{{0, 2048}, 4608}));
  const auto described = TarMemberText("__index__.json", "{}") + TarMemberText("a/", "", '5') + kShard;
  EXPECT_EQ(IndexOf(described), (RecordIndex{{0, 3584}, 6144})) << "what belongs to no sample lies before the next one";
  EXPECT_EQ(IndexOf(TarEnd()), RecordIndex());
}

TEST(Webdataset, WithAnIndexASampleIsLookedForWhenItIsRead) {
  const test::TempDirectory directory;
  const auto shard = TarMemberText("__about__", "us") + kShard;
  const auto index = IndexOf(shard);
  auto damaged = shard;
  damaged[2048 + 1024] = '!';  // the first header of the second sample
  WriteFile(directory / "s.tar", damaged);
  EXPECT_THROW(OpenWebdataset({directory / "s.tar"}), Error);
  const auto file = OpenWebdataset({directory / "s.tar", &index});
  ASSERT_EQ(file->record_count(), 2u);
  std::vector<std::byte> buffer;
  EXPECT_EQ(TextOf(file->Value(0, 0, buffer)), "a/1");
  EXPECT_EQ(TextOf(file->Value(0, 2, buffer)), "first");
  EXPECT_EQ(TextOf(*file->Whole(0, buffer)), TarMemberText("a/1.jpg", "first") + TarMemberText("a/1.cls", "3\n"));
  for (int time = 0; time < 2; ++time) {
    EXPECT_THAT(ErrorOf([&] { file->Value(1, 2, buffer); }).message(),
                HasSubstr("byte 3072: expected the header of a"));
  }
}

TEST(Webdataset, ManyThreadsFindTheSamplesOfAnIndex) {
  const test::TempDirectory directory;
  std::vector<std::pair<std::string, std::string>> members;
  for (int i = 0; i < 200; ++i) {
    members.emplace_back(std::to_string(i) + ".txt", "text " + std::to_string(i));
    members.emplace_back(std::to_string(i) + ".id", std::to_string(i));
  }
  const auto shard = TarText(members);
  WriteFile(directory / "s.tar", shard);
  const auto index = IndexOf(shard);
  const auto file = OpenWebdataset({directory / "s.tar", &index});
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      std::vector<std::byte> buffer;
      for (std::uint64_t i = 0; i < 200; ++i) {
        if (TextOf(file->Value(i, 2, buffer)) != "text " + std::to_string(i)) ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Webdataset, AnIndexOfAnotherShardIsNoticed) {
  const test::TempDirectory directory;
  WriteFile(directory / "s.tar", kShard);
  const auto refusal = [&](const RecordIndex& index) {
    return ErrorOf([&] {
             const auto file = OpenWebdataset({directory / "s.tar", &index});
             std::vector<std::byte> buffer;
             file->Value(1, 1, buffer);
           })
        .message();
  };
  EXPECT_THAT(refusal({{0, 2048}, 1u << 20}), HasSubstr("the index of the records of")) << "it ends behind the file";
  EXPECT_THAT(refusal({{2048, 0}, 4608}), HasSubstr("the index of the records of"));
  EXPECT_THAT(refusal({{0, 2048, 2048}, 4608}), HasSubstr("found 0 samples where the index of records has one"));
  EXPECT_THAT(refusal({{0, 4608}, 4608}), HasSubstr("found 2 samples"));
  EXPECT_THAT(refusal({{0, 2048}, 3000}), HasSubstr("reaches over the end"));
  EXPECT_THAT(refusal({{0, 1024}, 4608}), HasSubstr("the sample 'a/2' has a member 'jpg'"));
}

TEST(Webdataset, ReadsArrays) {
  const test::TempDirectory directory;
  WriteFile(directory / "s.tar", TarText({{"1.x.npy", NpyText(">u2", "(2,)", std::string("\0\1\0\2", 4))}}));
  const auto file = OpenWebdataset({directory / "s.tar"});
  EXPECT_EQ(file->fields()[1], (TableField{"x.npy", NumberType::kUint16, {2}, false}));
  std::vector<std::byte> buffer;
  EXPECT_EQ(TextOf(file->Value(0, 1, buffer)), std::string("\1\0\2\0", 4));
}

TEST(Webdataset, RefusesAnArrayOfAnotherShape) {
  const test::TempDirectory directory;
  WriteFile(directory / "s.tar",
            TarText({{"1.npy", NpyText("|u1", "(2,)", "ab")}, {"2.npy", NpyText("|u1", "(3,)", "abc")}}));
  const auto file = OpenWebdataset({directory / "s.tar"});
  std::vector<std::byte> buffer;
  EXPECT_THAT(ErrorOf([&] { file->Value(1, 1, buffer); }).message(),
              AllOf(HasSubstr("2.npy' is uint8 [3], in the first sample it is uint8 [2]")));
  WriteFile(directory / "o.tar", TarText({{"1.npy", NpyText("|O", "(2,)", "pickled!")}}));
  EXPECT_THAT(ErrorOf([&] { OpenWebdataset({directory / "o.tar"}); }).message(), HasSubstr("has the NumPy type '|O'"));
}

TEST(Webdataset, RefusesANumberThatIsNone) {
  const test::TempDirectory directory;
  WriteFile(directory / "s.tar", TarText({{"1.cls", "1"}, {"2.cls", "cat"}}));
  const auto file = OpenWebdataset({directory / "s.tar"});
  std::vector<std::byte> buffer;
  EXPECT_THAT(ErrorOf([&] { file->Value(1, 1, buffer); }).message(), HasSubstr("2.cls' is no whole number"));
}

TEST(Webdataset, NamesWhatIsWrongWithASample) {
  EXPECT_EQ(Refused(TarText({{"1.jpg", ""}, {"1.cls", "1"}, {"2.jpg", ""}})),
            "'s.tar': byte 1536: the sample '2' has no member 'cls'");
  EXPECT_EQ(Refused(TarText({{"1.jpg", ""}, {"2.jpg", ""}, {"2.cls", "1"}})),
            "'s.tar': byte 512: the sample '2' has a member 'cls', which the first sample does not have");
  EXPECT_EQ(Refused(TarText({{"1.jpg", ""}, {"1.JPG", ""}})),
            "'s.tar': byte 512: the sample '1' has two members 'jpg'");
  EXPECT_EQ(Refused(TarText({{"1.jpg", ""}, {"2.jpg", ""}, {"1.jpg", ""}})),
            "'s.tar': byte 1024: the key '1' of '1.jpg' was used before by another sample");
  EXPECT_EQ(Refused(TarText({{"README", ""}})),
            "'s.tar': byte 0: the member 'README' is of no sample: expected KEY.FIELD");
}

TEST(Tar, RefusesMembersThatAreNoPlainFiles) {
  const auto one = TarMemberText("1.jpg", "x");
  EXPECT_EQ(Refused(one + TarMemberText("2.jpg", "", '1', "1.jpg") + TarEnd()),
            "'s.tar': byte 1024: the member '2.jpg' is a hard link");
  EXPECT_EQ(Refused(TarMemberText("2.jpg", "", '2', "/etc/passwd") + TarEnd()),
            "'s.tar': byte 0: the member '2.jpg' is a symbolic link");
  EXPECT_EQ(Refused(TarMemberText("2.jpg", "", '6') + TarEnd()),
            "'s.tar': byte 0: the member '2.jpg' is no regular file");
  EXPECT_THAT(Refused(TarText({{"../2.jpg", ""}})), HasSubstr("'../2.jpg' has a path that leads out of the archive"));
  EXPECT_THAT(Refused(TarText({{"/2.jpg", ""}})), HasSubstr("'/2.jpg' has a path that leads out of the archive"));
  EXPECT_EQ(CheckInPieces(TarMemberText("a/", "", '5') + kShard, 512).records, 2u) << "folders are no members";
}

TEST(Tar, FindsATornArchiveWhereverItIsTorn) {
  for (std::size_t size = 1; size < kShard.size() - 512; size += 7) {
    EXPECT_THAT(Refused(kShard.substr(0, size)), AllOf(HasSubstr("'s.tar'"), HasSubstr("byte"))) << size;
  }
  EXPECT_THAT(Refused(kShard.substr(0, 2048)), HasSubstr("is torn at byte 2048: its end is missing after 'a/1.cls'"));
  EXPECT_THAT(Refused(kShard.substr(0, 515)), HasSubstr("is torn at byte 515: 509 bytes of 'a/1.jpg' are missing"));
}

TEST(Tar, FindsADamagedHeader) {
  for (std::size_t bit = 0; bit < 500 * 8; bit += 3) {
    if (bit / 8 >= 148 && bit / 8 < 156) continue;  // the checksum itself: a space may stand for a zero
    EXPECT_THROW(CheckInPieces(WithBitFlipped(kShard, 1024 * 8 + bit), 4096), Error) << bit;
  }
  EXPECT_THAT(Refused(WithBitFlipped(kShard, 1024 * 8)),
              HasSubstr("byte 1024: expected the header of a tar member, after 'a/1.jpg'"));
  EXPECT_THAT(Refused(Deflate(Compression::kGzip, kShard)), HasSubstr("is a compressed archive"));
  EXPECT_THAT(Refused(kShard + kShard), HasSubstr("bytes follow the end of the archive"));
}

TEST(Tar, RefusesAHeaderOfGigabytes) {
  auto member = TarMemberText("x", std::string(100'000, 'a'), 'L');
  EXPECT_THAT(Refused(member + TarEnd()), HasSubstr("byte 0: expected the header of a tar member"));
}

}  // namespace
}  // namespace slipway::staging
