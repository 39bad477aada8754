#include "staging/formats/example.h"

#include <gmock/gmock.h>

#include <array>
#include <random>

#include "tests/staging/formats_support.h"

namespace slipway::staging {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A message field of wire type 2 with a content of less than 16 KiB.
std::string Field(int number, const std::string& content) {
  std::string field{static_cast<char>(number << 3 | 2)};
  if (content.size() >= 128) field.push_back(static_cast<char>(content.size() | 128));
  field.push_back(static_cast<char>(content.size() >= 128 ? content.size() >> 7 : content.size()));
  return field + content;
}
/// An Example with one feature from the bytes of its Feature message.
std::string OneFeature(const std::string& name, const std::string& feature) {
  return Field(1, Field(1, Field(1, name) + Field(2, feature)));
}

std::vector<std::int64_t> IntsOf(const FeatureView& feature) {
  std::vector<std::int64_t> values(feature.count());
  EXPECT_EQ(feature.CopyInts(values), values.size());
  return values;
}
std::vector<float> FloatsOf(const FeatureView& feature) {
  std::vector<float> values(feature.count());
  EXPECT_EQ(feature.CopyFloats(values), values.size());
  return values;
}

std::string AllKinds() {
  const std::array<float, 3> floats = {1.5F, -2, 0};
  const std::array<std::int64_t, 4> ints = {-1, 0, 300, INT64_MIN};
  const std::array<std::string_view, 2> texts = {"left", std::string_view("\0right", 6)};
  return ExampleBuilder().AddBytesList("b", texts).AddFloats("f", floats).AddInts("i", ints).Finish();
}

TEST(Example, ReadsWhatItBuilt) {
  const auto record = AllKinds();
  const auto example = ParseExample(BytesOf(record));
  ASSERT_EQ(example.features().size(), 3u);
  EXPECT_THAT(example.Find("b")->AllBytes(), ElementsAre("left", std::string_view("\0right", 6)));
  EXPECT_THAT(FloatsOf(*example.Find("f")), ElementsAre(1.5F, -2, 0));
  EXPECT_THAT(IntsOf(*example.Find("i")), ElementsAre(-1, 0, 300, INT64_MIN));
  EXPECT_EQ(example.Find("x"), nullptr);
}

TEST(Example, HandsOutBytesInPlace) {
  const auto record = ExampleBuilder().AddBytes("image", "pixels").Finish();
  const auto value = FindFeature(BytesOf(record), "image")->FirstBytes();
  EXPECT_EQ(value.data(), record.data() + record.find("pixels"));
}

TEST(Example, HasTheWireFormOfProtobuf) {
  const auto built = ExampleBuilder().AddInt("label", 7).Finish();
  EXPECT_EQ(built, OneFeature("label", Field(3, Field(1, "\x07"))));
}

TEST(Example, ReadsNumbersOneByOneAndPacked) {
  const std::string one_by_one("\x08\x05\x08\xac\x02", 5);
  const auto ints = OneFeature("i", Field(3, one_by_one + Field(1, "\x06\x07")));
  EXPECT_THAT(IntsOf(*FindFeature(BytesOf(ints), "i")), ElementsAre(5, 300, 6, 7));
  const std::string one_float("\x0d\x00\x00\xc0\x3f", 5);
  const auto floats = OneFeature("f", Field(2, one_float + Field(1, std::string("\x00\x00\x00\x40", 4))));
  EXPECT_THAT(FloatsOf(*FindFeature(BytesOf(floats), "f")), ElementsAre(1.5F, 2));
}

TEST(Example, SkipsUnknownFieldsOfEveryWireType) {
  const std::string unknown = std::string("\x48\x96\x01", 3) + std::string("\x51\0\0\0\0\0\0\0\0", 9) +
                              Field(11, "skip") + std::string("\x65\0\0\0\0", 5);
  const auto feature = unknown + Field(3, unknown + Field(1, "\x07"));
  const auto entry = unknown + Field(1, "label") + unknown + Field(2, feature);
  const auto record = unknown + Field(1, unknown + Field(1, entry));
  EXPECT_THAT(IntsOf(*FindFeature(BytesOf(record), "label")), ElementsAre(7));
  EXPECT_EQ(ParseExample(BytesOf(record)).features().size(), 1u);
}

TEST(Example, OfSeveralWithOneNameTheLastCounts) {
  const auto record = Field(1, Field(1, Field(1, "i") + Field(2, Field(3, Field(1, "\x01")))) +
                                   Field(1, Field(1, "i") + Field(2, Field(3, Field(1, "\x02")))));
  EXPECT_THAT(IntsOf(*ParseExample(BytesOf(record)).Find("i")), ElementsAre(2));
  EXPECT_THAT(IntsOf(*FindFeature(BytesOf(record), "i")), ElementsAre(2));
}

TEST(Example, AFeatureWithoutAListHasNoKind) {
  const auto feature = FindFeature(BytesOf(OneFeature("x", "")), "x");
  EXPECT_EQ(feature->kind(), FeatureKind::kNone);
  EXPECT_EQ(feature->count(), 0u);
  EXPECT_EQ(feature->FirstBytes(), "");
}

TEST(Example, CopiesNoMoreThanThereIsRoomFor) {
  const auto record = AllKinds();
  const auto feature = FindFeature(BytesOf(record), "i");
  std::array<std::int64_t, 2> two{};
  EXPECT_EQ(feature->CopyInts(two), 2u);
  EXPECT_EQ(feature->CopyInts({}), 0u);
  std::array<float, 2> wrong{};
  EXPECT_EQ(feature->CopyFloats(wrong), 0u);
}

TEST(Example, BytesThatAreNoExampleAreAnError) {
  const auto error = ErrorOf([] { ParseExample(BytesOf("plain text")); });
  EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
  EXPECT_THAT(error.message(), HasSubstr("not a tf.train.Example"));
  const auto odd_floats = OneFeature("weights", Field(2, Field(1, "12345")));
  EXPECT_THAT(ErrorOf([&] { ParseExample(BytesOf(odd_floats)); }).message(), HasSubstr("'weights'"));
}

/// Whatever the bytes are: values that can be read, or an Error. A sanitizer build sees what leaves the record.
void ReadEverything(const std::string& record) {
  const std::vector<char> exact(record.begin(), record.end());  // no spare byte behind the record
  const auto bytes = std::as_bytes(std::span(exact));
  try {
    for (const auto& feature : ParseExample(bytes).features()) {
      std::size_t length = feature.FirstBytes().size();
      for (const auto value : feature.AllBytes()) length += value.size();
      EXPECT_LE(length, 2 * record.size());
      EXPECT_LE(feature.count(), record.size());
      if (feature.kind() == FeatureKind::kFloat) FloatsOf(feature);
      if (feature.kind() == FeatureKind::kInt64) IntsOf(feature);
    }
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
  }
}

TEST(Example, EveryTruncationAndFlippedBitIsReadOrRefused) {
  const auto record = AllKinds();
  for (std::size_t size = 0; size < record.size(); ++size) ReadEverything(record.substr(0, size));
  for (std::size_t bit = 0; bit < record.size() * 8; ++bit) ReadEverything(WithBitFlipped(record, bit));
}

TEST(Example, RandomlyMutatedBytesAreReadOrRefused) {
  const auto original = AllKinds();
  std::mt19937 random(20240817);
  for (int round = 0; round < 20000; ++round) {
    auto record = original;
    for (unsigned changes = 1 + random() % 4; changes > 0; --changes) {
      record[random() % record.size()] = static_cast<char>(random());
    }
    if (random() % 4 == 0) record.insert(random() % record.size(), 1 + random() % 12, '\xff');
    ReadEverything(record);
  }
}

}  // namespace
}  // namespace slipway::staging
