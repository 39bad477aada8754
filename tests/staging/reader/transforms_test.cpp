#include "staging/reader/transforms.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <turbojpeg.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "core/error.h"
#include "tests/staging/formats_support.h"
#include "tests/staging/reader/batches_support.h"

namespace slipway::staging {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

std::vector<Transform> Parsed(const std::string& json) { return ParseTransforms(Json::parse(json)); }

/// The bytes 0, 1, 2, ...
std::vector<std::uint8_t> Ramp(std::size_t count) {
  std::vector<std::uint8_t> bytes(count);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
  return bytes;
}

template <class Out>
std::vector<Out> Apply(const std::string& transforms, const Shape& shape, const std::vector<std::uint8_t>& in,
                       const RecordKey& key = {}) {
  const TransformChain chain(Parsed(transforms), {ElementType::kUint8, shape});
  std::vector<Out> out(chain.output_bytes() / sizeof(Out));
  TransformMemory memory;
  chain.Apply({ElementType::kUint8, shape, std::as_bytes(std::span(in))}, key, memory,
              std::as_writable_bytes(std::span(out)));
  return out;
}

FieldType TypeOf(const std::string& transforms, const Shape& shape) {
  return TransformChain(Parsed(transforms), {ElementType::kUint8, shape}).output();
}

TEST(Transforms, SayTheShapeBeforeAnythingIsRead) {
  const std::string list = R"([{"op": "random_crop", "size": [24, 20], "padding": 2}, {"op": "flip"},
      {"op": "normalise", "mean": [1, 2, 3], "std": [4]}, {"op": "channels_first"}, {"op": "cast", "to": "float16"}])";
  EXPECT_EQ(TypeOf(list, {28, 28, 3}), (FieldType{ElementType::kFloat16, {3, 24, 20}}));
  EXPECT_EQ(
      TypeOf(R"([{"op": "decode_jpeg"}, {"op": "resize", "shorter": 8}, {"op": "center_crop", "size": [8, 8]}])", {0}),
      (FieldType{ElementType::kUint8, {8, 8, 3}}));
  EXPECT_EQ(TypeOf(R"([{"op": "resize", "shorter": 8}])", {16, 32}), (FieldType{ElementType::kUint8, {8, 16}}));
}

TEST(Transforms, RefuseWhatDoesNotFit) {
  const auto refusal = [](const std::string& list, const Shape& shape) {
    return std::string(ErrorOf([&] { TypeOf(list, shape); }).what());
  };
  EXPECT_THAT(refusal(R"([{"op": "center_crop", "size": [30, 3]}])", {28, 28}), HasSubstr("at least 30 x 3 pixels"));
  EXPECT_THAT(refusal(R"([{"op": "flip"}, {"op": "flip"}])", {784}), HasSubstr("in transform 0"));
  EXPECT_THAT(refusal(R"([{"op": "decode_jpeg"}])", {0}), HasSubstr("crop or resize to one size"));
  for (const auto* shorter : {"67108865", "4294967296", "18446744073709551615"}) {
    EXPECT_THAT(refusal(fmt::format(R"([{{"op": "resize", "shorter": {}}}])", shorter), {4, 4}),
                HasSubstr("pixels is not possible"));
  }
  EXPECT_THAT(refusal(R"([{"op": "normalise", "mean": [1, 2]}])", {4, 4, 3}), HasSubstr("2 values of mean"));
  EXPECT_THAT(refusal(R"([{"op": "normalise", "std": [0]}])", {4, 4, 3}), HasSubstr("not 0"));
  EXPECT_THAT(refusal(R"([{"op": "turn"}])", {4}), HasSubstr("one of decode_jpeg, random_crop"));
  EXPECT_THAT(refusal(R"([{"op": "flip", "axes": "vertical"}])", {4, 4}), HasSubstr("unknown key 'axes'"));
  EXPECT_THAT(refusal(R"([{"op": "resize", "size": [4]}])", {4, 4}), HasSubstr("[height, width]"));
  EXPECT_THAT(refusal(R"([{"op": "resize", "size": [99999999, 99999999]}])", {4, 4}), HasSubstr("not possible"));
  EXPECT_THAT(refusal(R"({"op": "flip"})", {4, 4}), HasSubstr("list"));
  EXPECT_THAT(refusal(R"([{"op": "cast", "to": "float31"}])", {4}), HasSubstr("a type of numbers"));
}

TEST(Transforms, CropsTheMiddle) {
  EXPECT_THAT(Apply<std::uint8_t>(R"([{"op": "center_crop", "size": [1, 2]}])", {3, 4}, Ramp(12)), ElementsAre(5, 6));
}

TEST(Transforms, RandomCropsMoveAndPutZerosAround) {
  std::set<std::vector<std::uint8_t>> seen;
  for (std::uint64_t record = 0; record < 200; ++record) {
    seen.insert(Apply<std::uint8_t>(R"([{"op": "random_crop", "size": [2, 2], "padding": 1}])", {2, 2}, {1, 2, 3, 4},
                                    {1, 0, record}));
  }
  EXPECT_EQ(seen.size(), 9u);
  EXPECT_TRUE(seen.contains({1, 2, 3, 4}));
  EXPECT_TRUE(seen.contains({0, 0, 0, 1}));
  EXPECT_TRUE(seen.contains({4, 0, 0, 0}));
}

TEST(Transforms, FlipsRowsAndColumnsOfWholePixels) {
  const auto pixels = Ramp(12);
  EXPECT_THAT(Apply<std::uint8_t>(R"([{"op": "flip", "probability": 1}])", {2, 2, 3}, pixels),
              ElementsAre(3, 4, 5, 0, 1, 2, 9, 10, 11, 6, 7, 8));
  EXPECT_THAT(Apply<std::uint8_t>(R"([{"op": "flip", "axis": "vertical", "probability": 1}])", {2, 2, 3}, pixels),
              ElementsAre(6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5));
  EXPECT_EQ(Apply<std::uint8_t>(R"([{"op": "flip", "probability": 0}])", {2, 2, 3}, pixels), pixels);
  int flipped = 0;
  for (std::uint64_t record = 0; record < 1000; ++record) {
    flipped += Apply<std::uint8_t>(R"([{"op": "flip"}])", {1, 2}, {1, 2}, {0, 0, record})[0] == 2;
  }
  EXPECT_NEAR(flipped, 500, 60);
}

TEST(Transforms, NormaliseScalesAndKnowsChannels) {
  EXPECT_THAT(Apply<float>(R"([{"op": "normalise", "mean": [0.5], "std": [0.25], "scale": 0.01}])", {2}, {0, 100}),
              ElementsAre(FloatNear(-2, 1e-5F), FloatNear(2, 1e-5F)));
  EXPECT_THAT(Apply<float>(R"([{"op": "normalise", "mean": [1, 2, 3], "std": [1, 2, 4]}])", {1, 2, 3}, Ramp(6)),
              ElementsAre(-1, -0.5F, -0.25F, 2, 1, 0.5F));
}

TEST(Transforms, ResizesBilinearlyAtPixelCentres) {
  // What torch.nn.functional.interpolate(mode="bilinear", align_corners=False) gives, rounded.
  EXPECT_THAT(Apply<float>(R"([{"op": "cast", "to": "float32"}, {"op": "resize", "size": [1, 4]}])", {1, 2}, {0, 100}),
              ElementsAre(0, 25, 75, 100));
  EXPECT_THAT(Apply<std::uint8_t>(R"([{"op": "resize", "size": [2, 2]}])", {4, 4}, Ramp(16)),
              ElementsAre(3, 5, 11, 13));
  EXPECT_EQ(Apply<std::uint8_t>(R"([{"op": "resize", "size": [3, 4]}])", {3, 4}, Ramp(12)), Ramp(12));
}

TEST(Transforms, RandomResizedCropsStayInTheImageAndDiffer) {
  std::set<std::vector<std::uint8_t>> seen;
  for (std::uint64_t record = 0; record < 50; ++record) {
    const auto out = Apply<std::uint8_t>(R"([{"op": "random_resized_crop", "size": [4, 4]}])", {8, 8, 3},
                                         std::vector<std::uint8_t>(192, 9), {0, 1, record});
    ASSERT_EQ(out, std::vector<std::uint8_t>(48, 9));
    seen.insert(
        Apply<std::uint8_t>(R"([{"op": "random_resized_crop", "size": [4, 4]}])", {8, 8}, Ramp(64), {0, 1, record}));
  }
  EXPECT_GT(seen.size(), 30u);
  // No region of this proportion fits: the middle.
  EXPECT_THAT(Apply<std::uint8_t>(R"([{"op": "random_resized_crop", "size": [1, 1], "ratio": [1, 1], "area": [1, 1]}])",
                                  {1, 5}, {0, 0, 7, 0, 0}),
              ElementsAre(7));
}

TEST(Transforms, ChannelsComeFirst) {
  EXPECT_THAT(Apply<std::uint8_t>(R"([{"op": "channels_first"}])", {1, 2, 3}, Ramp(6)), ElementsAre(0, 3, 1, 4, 2, 5));
}

TEST(Transforms, DependOnSeedEpochAndRecordAndNothingElse) {
  const std::string list =
      R"([{"op": "random_crop", "size": [4, 4]}, {"op": "flip"}, {"op": "flip", "axis": "vertical"}])";
  const auto with = [&](const RecordKey& key) { return Apply<std::uint8_t>(list, {16, 15}, Ramp(240), key); };
  EXPECT_EQ(with({1, 2, 3}), with({1, 2, 3}));
  std::set<std::vector<std::uint8_t>> seen;
  for (std::uint64_t i = 0; i < 5; ++i) seen.insert({with({i, 2, 3}), with({1, i + 5, 3}), with({1, 2, i + 5})});
  EXPECT_GT(seen.size(), 12u);
}

TEST(Transforms, AnUnusedFlipBetweenOthersChangesNothing) {
  const auto plain = Apply<float>(R"([{"op": "resize", "size": [8, 8]}, {"op": "cast", "to": "float32"},
      {"op": "resize", "size": [3, 3]}])",
                                  {5, 5}, Ramp(25));
  const auto with = Apply<float>(R"([{"op": "resize", "size": [8, 8]}, {"op": "flip", "probability": 0},
      {"op": "cast", "to": "float32"}, {"op": "flip", "probability": 0}, {"op": "resize", "size": [3, 3]}])",
                                 {5, 5}, Ramp(25));
  EXPECT_EQ(plain, with);
}

constexpr char kDecode[] = R"([{"op": "decode_jpeg"}, {"op": "center_crop", "size": [8, 8]}])";

std::vector<std::uint8_t> Decoded(const std::string& file, const std::string& list = kDecode) {
  const TransformChain chain(Parsed(list), {ElementType::kUint8, {0}});
  std::vector<std::uint8_t> out(chain.output_bytes());
  TransformMemory memory;
  chain.Apply({ElementType::kUint8, {file.size()}, BytesOf(file)}, {}, memory, std::as_writable_bytes(std::span(out)));
  return out;
}

TEST(Jpeg, DecodesPicturesOfDifferentSizes) {
  for (const int width : {8, 9, 40}) {
    const auto pixels = Decoded(GreyJpeg(width, 16, 200));
    ASSERT_EQ(pixels.size(), 192u);
    for (const int pixel : pixels) EXPECT_NEAR(pixel, 200, 2);
  }
  const auto grey = Decoded(GreyJpeg(8, 8, 90), R"([{"op": "decode_jpeg", "channels": 1},
                                                     {"op": "resize", "size": [2, 2]}])");
  ASSERT_EQ(grey.size(), 4u);
  EXPECT_NEAR(grey[0], 90, 2);
}

TEST(Jpeg, NamesWhatIsWrongWithABadPicture) {
  const auto file = GreyJpeg(64, 64, 100);
  EXPECT_THAT(ErrorOf([&] { Decoded("not a picture"); }).message(), HasSubstr("cannot be decoded"));
  EXPECT_THAT(ErrorOf([&] { Decoded(""); }).message(), HasSubstr("cannot be decoded"));
  EXPECT_THAT(ErrorOf([&] { Decoded(file.substr(0, file.size() / 2)); }).message(), HasSubstr("cannot be decoded"));
  EXPECT_THAT(ErrorOf([&] { Decoded(GreyJpeg(7, 9, 1)); }).message(), HasSubstr("at least 8 x 8 pixels"));
  // The frame header says 65,500 x 65,500.
  auto huge = file;
  const auto frame = huge.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  for (const auto at : {5, 7}) {
    huge[frame + at] = '\xff';
    huge[frame + at + 1] = '\xdc';
  }
  EXPECT_THAT(ErrorOf([&] { Decoded(huge); }).message(), HasSubstr("65500 x 65500 pixels"));
}

TEST(Jpeg, DamageNeverCrashes) {
  const auto file = GreyJpeg(24, 24, 60);
  for (std::size_t bit = 0; bit < file.size() * 8; bit += 3) {
    try {
      Decoded(WithBitFlipped(file, bit));
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace slipway::staging
