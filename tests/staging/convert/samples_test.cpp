// Conversion to WebDataset: names of members, keys, and what is refused.
#include <gmock/gmock.h>

#include <cstring>

#include "core/files.h"
#include "staging/convert/convert.h"
#include "staging/convert/write_samples.h"
#include "staging/formats/example.h"
#include "staging/formats/table_file.h"
#include "staging/formats/tar_header.h"
#include "tests/staging/formats_support.h"
#include "tests/staging/numpy_support.h"
#include "tests/staging/tar_support.h"
#include "tests/support/temp_directory.h"

namespace slipway::staging {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Form = SampleMember::Form;

ConvertResult ToWebdataset(std::vector<fs::path> sources, const fs::path& destination, int shards = 1) {
  ConvertOptions options;
  options.sources = std::move(sources);
  options.destination = destination;
  options.to = DataFormat::kWebdataset;
  options.shards = shards;
  return Convert(options);
}

std::string ValueOf(const fs::path& shard, std::uint64_t record, std::string_view field) {
  const auto file = OpenWebdataset({shard});
  const auto found = std::ranges::find(file->fields(), field, &TableField::name);
  if (found == file->fields().end()) return "no such field";
  std::vector<std::byte> buffer;
  return std::string(TextOf(file->Value(record, static_cast<std::size_t>(found - file->fields().begin()), buffer)));
}

std::string Number(std::int64_t number) { return std::string(reinterpret_cast<const char*>(&number), sizeof number); }

std::vector<std::string> NamesIn(const TableFile& file) {
  std::vector<std::string> names;
  for (const auto& field : file.fields()) names.push_back(field.name);
  return names;
}

/// Records of any fields, for the names of their members.
class AnyFields final : public RecordProducer {
 public:
  explicit AnyFields(std::vector<ProducedField> fields, std::string first = "text")
      : fields_(std::move(fields)), first_(std::move(first)) {}
  std::uint64_t record_count() const override { return 1; }
  const std::vector<ProducedField>& fields() const override { return fields_; }
  std::span<const std::byte> Value(std::uint64_t, std::size_t) override { return std::as_bytes(std::span(first_)); }

 private:
  std::vector<ProducedField> fields_;
  std::string first_;
};

std::vector<SampleMember> MembersOf(std::vector<ProducedField> fields, std::string first = "text") {
  AnyFields source(std::move(fields), std::move(first));
  return SampleMembersOf(source);
}

TEST(SampleMembers, AreNamedByFieldAndValue) {
  const ProducedField image{"image", NumberType::kUint8, {}, true};
  EXPECT_THAT(MembersOf({image}, PngText(1, 1)), ElementsAre(SampleMember{0, "png", Form::kBytes}));
  EXPECT_THAT(MembersOf({{"Image/Encoded", NumberType::kUint8, {}, true}}, JpegText(1, 1)),
              ElementsAre(SampleMember{0, "image_encoded.jpg", Form::kBytes}));
  EXPECT_THAT(MembersOf({{"left.jpeg", NumberType::kUint8, {}, true}}, JpegText(1, 1)),
              ElementsAre(SampleMember{0, "left.jpeg", Form::kBytes}));
  EXPECT_THAT(MembersOf({image}), ElementsAre(SampleMember{0, "image", Form::kBytes}));
  EXPECT_THAT(MembersOf({{"class", NumberType::kUint8, {}, true}}),
              ElementsAre(SampleMember{0, "class.bin", Form::kBytes}))
      << "readers take 'class' for a number";
  EXPECT_THAT(MembersOf({{"label", NumberType::kUint8, {}, false},
                         {"x.id", NumberType::kInt32, {}, false},
                         {"id", NumberType::kUint64, {}, false},
                         {"weight", NumberType::kFloat32, {}, false},
                         {"cls", NumberType::kInt64, {2}, false}}),
              ElementsAre(SampleMember{0, "cls", Form::kInteger}, SampleMember{4, "cls.npy", Form::kArray},
                          SampleMember{2, "id.npy", Form::kArray}, SampleMember{3, "weight.npy", Form::kArray},
                          SampleMember{1, "x.id", Form::kInteger}));
  EXPECT_THAT(MembersOf({{"..a b./c.", NumberType::kUint8, {}, true}}),
              ElementsAre(SampleMember{0, "_.a_b._c._", Form::kBytes}));
}

TEST(SampleMembers, TwoFieldsOfOneNameAreRefused) {
  const auto error = ErrorOf([] {
    MembersOf({{"a/b", NumberType::kFloat32, {}, false}, {"A b", NumberType::kFloat32, {}, false}});
  });
  EXPECT_EQ(error.kind(), ErrorKind::kUsage);
  EXPECT_THAT(error.message(), HasSubstr("would both be the member 'a_b.npy'"));
  EXPECT_THAT(ErrorOf([] {
                MembersOf({{"__key__", NumberType::kUint8, {}, true}});
              }).message(),
              HasSubstr("a sample needs a member"));
}

TEST(ConvertToWebdataset, WritesImagesWithLabelsInTheOrderOfTheRecords) {
  const test::TempDirectory directory;
  for (const auto* name : {"in/ant/b.png", "in/ant/a.png", "in/bee/c.png"}) {
    fs::create_directories((directory / name).parent_path());
    WriteFile(directory / name, PngText(static_cast<unsigned>(name[7]), 2));
  }
  const auto result = ToWebdataset({directory / "in"}, directory / "out/train", 2);
  EXPECT_EQ(result.format, DataFormat::kWebdataset);
  ASSERT_THAT(result.files,
              ElementsAre(directory / "out/train-00000-of-00002.tar", directory / "out/train-00001-of-00002.tar"));
  EXPECT_THAT(NamesIn(*OpenWebdataset({result.files[1]})), ElementsAre("__key__", "class.bin", "cls", "png"));
  EXPECT_EQ(ValueOf(result.files[0], 0, "__key__"), "00000000");
  EXPECT_EQ(ValueOf(result.files[0], 0, "png"), PngText('a', 2));
  EXPECT_EQ(ValueOf(result.files[1], 1, "__key__"), "00000002");
  EXPECT_EQ(ValueOf(result.files[1], 1, "cls"), Number(1));
  EXPECT_EQ(ValueOf(result.files[1], 1, "class.bin"), "bee");
}

TEST(ConvertToWebdataset, SeveralImagesAreOfTheClassesOfTheirFolders) {
  const test::TempDirectory directory;
  std::vector<fs::path> images;
  for (const auto* name : {"ant/a.png", "bee/b.png"}) {
    fs::create_directories((directory / name).parent_path());
    WriteFile(images.emplace_back(directory / name), PngText(1, 2));
  }
  const auto result = ToWebdataset(images, directory / "out/train");
  EXPECT_EQ(ValueOf(result.files[0], 0, "cls") + ValueOf(result.files[0], 1, "cls"), Number(0) + Number(1));
}

TEST(ConvertToWebdataset, KeepsArraysAndComesBack) {
  const test::TempDirectory directory;
  WriteFile(directory / "x.npy", NpyText(">i2", "(2, 3)", std::string("\0\1\0\2\0\3\0\4\0\5\0\6", 12)));
  WriteFile(directory / "label.npy", NpyText("|u1", "(2,)", "\x5\xff"));
  const auto shard = ToWebdataset({directory / "x.npy", directory / "label.npy"}, directory / "out/train").files[0];
  const auto file = OpenWebdataset({shard});
  EXPECT_EQ(file->fields()[2], (TableField{"x.npy", NumberType::kInt16, {3}, false}));
  EXPECT_EQ(ValueOf(shard, 1, "cls"), Number(255));
  EXPECT_EQ(ValueOf(shard, 1, "x.npy"), std::string("\4\0\5\0\6\0", 6));
  const auto again = ToWebdataset({shard}, directory / "again/train").files[0];
  EXPECT_EQ(ReadFile(again), ReadFile(shard)) << "samples of a WebDataset are copied";
  EXPECT_EQ(ReadFile(ToWebdataset({directory / "x.npy", directory / "label.npy"}, directory / "out/train").files[0]),
            ReadFile(again))
      << "the same source gives the same bytes, over the older result, too";
}

TEST(ConvertToWebdataset, GoesToTfrecordAndBack) {
  const test::TempDirectory directory;
  const std::string long_key = "folder/" + std::string(200, 'k');
  WriteFile(directory / "s.tar",
            TarText({{"a/1.txt", "one"}, {"a/1.cls", "3"}, {"b/2.txt", "two!"}, {"b/2.cls", "-4"}}));
  ConvertOptions options;
  options.sources = {directory / "s.tar"};
  options.destination = directory / "records/train";
  const auto records = Convert(options).files[0];
  const auto shard = ToWebdataset({records}, directory / "out/train").files[0];
  EXPECT_EQ(ReadFile(shard), TarText({{"a/1.cls", "3"}, {"a/1.txt", "one"}, {"b/2.cls", "-4"}, {"b/2.txt", "two!"}}));
  MakeTfrecords(directory / "long.tfrecord",
                {ExampleBuilder().AddBytes("__key__", long_key).AddBytes("x", "y").Finish()});
  EXPECT_EQ(ValueOf(ToWebdataset({directory / "long.tfrecord"}, directory / "long/train").files[0], 0, "__key__"),
            long_key);
}

TEST(ConvertToWebdataset, RefusesKeysThatLeadOutOrDivideElsewhere) {
  const test::TempDirectory directory;
  const auto refused = [&](std::string_view key) {
    MakeTfrecords(directory / "a.tfrecord", {ExampleBuilder().AddBytes("__key__", key).AddBytes("x", "y").Finish()});
    const auto error = ErrorOf([&] { ToWebdataset({directory / "a.tfrecord"}, directory / "out/train"); });
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment) << key;
    EXPECT_TRUE(fs::is_empty(directory / "out")) << key;
    return error.message();
  };
  for (const auto* key : {"../a", "a/../b", "/etc/passwd", "a//b", "./a"}) {
    EXPECT_THAT(refused(key), HasSubstr("is no relative path")) << key;
  }
  EXPECT_THAT(refused(""), HasSubstr("the key '' is empty"));
  EXPECT_THAT(refused("a/"), HasSubstr("no last part"));
  EXPECT_THAT(refused("a/b.c"), HasSubstr("has a dot in its last part"));
  EXPECT_THAT(refused("a/__b"), HasSubstr("begins with '__'"));
  EXPECT_THAT(refused(std::string_view("a\0b", 3)), HasSubstr("is no printable UTF-8"));
  EXPECT_THAT(refused("a\xff"), HasSubstr("record 0: the key 'a%FF' is no printable UTF-8"));
  EXPECT_THAT(refused(std::string(1025, 'a')), HasSubstr("is longer than 1024 bytes"));
}

TEST(ConvertToWebdataset, RefusesKeysThatReturn) {
  const test::TempDirectory directory;
  const auto record = [](std::string_view key) {
    return ExampleBuilder().AddBytes("__key__", key).AddBytes("x", "y").Finish();
  };
  MakeTfrecords(directory / "a.tfrecord", {record("a"), record("b"), record("a")});
  const auto error = ErrorOf([&] { ToWebdataset({directory / "a.tfrecord"}, directory / "out/train"); });
  EXPECT_THAT(error.message(), HasSubstr("out/train-00000-of-00001.tar': byte"));
  EXPECT_THAT(error.message(), HasSubstr("the key 'a' of 'a.x' was used before"));
  EXPECT_TRUE(fs::is_empty(directory / "out"));
}

TEST(ConvertToWebdataset, RefusesATornArchiveAndCompression) {
  const test::TempDirectory directory;
  const auto shard = TarText({{"1.x", "a"}, {"2.x", "b"}});
  WriteFile(directory / "s.tar", shard.substr(0, 1500));
  EXPECT_THAT(ErrorOf([&] { ToWebdataset({directory / "s.tar"}, directory / "out/train"); }).message(),
              HasSubstr("s.tar' is torn at byte 1500"));
  EXPECT_FALSE(fs::exists(directory / "out"));
  ConvertOptions options;
  options.sources = {directory / "s.tar"};
  options.destination = directory / "out/train";
  options.to = DataFormat::kWebdataset;
  options.compression = Compression::kGzip;
  EXPECT_THAT(ErrorOf([&] { Convert(options); }).message(), HasSubstr("only TFRecord files are compressed"));
}

TEST(TarHeader, IsThatOfAPlainFileAndCountsItsLength) {
  EXPECT_EQ(TarHeader("1.x", 3) + "abc" + std::string(TarPadding(3)), TarMemberText("1.x", "abc"));
  for (const std::size_t length : {1u, 99u, 100u, 101u, 990u, 991u, 5000u}) {
    const test::TempDirectory directory;
    const auto key = std::string(length, 'k');
    WriteFile(directory / "s.tar", TarHeader(key + ".x", 1) + "y" + std::string(TarPadding(1)) + TarEnd());
    EXPECT_EQ(ValueOf(directory / "s.tar", 0, "__key__"), key);
  }
  EXPECT_TRUE(TarPadding(512).empty());
  EXPECT_EQ(ErrorOf([] { TarHeader("1.x", 1ULL << 33); }).kind(), ErrorKind::kEnvironment);
}

}  // namespace
}  // namespace slipway::staging
