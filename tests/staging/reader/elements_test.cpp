#include "staging/reader/elements.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace slipway::staging {
namespace {

using ::testing::ElementsAre;

template <class To, class From>
std::vector<To> Converted(ElementType from_type, const std::vector<From>& from, ElementType to_type) {
  std::vector<To> to(from.size());
  ConvertElements(from_type, std::as_bytes(std::span(from)), to_type, std::as_writable_bytes(std::span(to)));
  return to;
}

TEST(Elements, ConvertToTheNearestNumber) {
  const std::vector<float> numbers = {-1, 0.5F, 1.5F, 2.4F, 300, std::nanf("")};
  EXPECT_THAT((Converted<std::uint8_t>(ElementType::kFloat32, numbers, ElementType::kUint8)),
              ElementsAre(0, 0, 2, 2, 255, 0));
  const std::vector<double> large = {1e300, -1e300, 9223372036854775808.0};
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT((Converted<std::int64_t>(ElementType::kFloat64, large, ElementType::kInt64)),
              ElementsAre(kMost, std::numeric_limits<std::int64_t>::min(), kMost));
  const std::vector<std::int64_t> whole = {-5, 70000, 7};
  EXPECT_THAT((Converted<std::uint16_t>(ElementType::kInt64, whole, ElementType::kUint16)), ElementsAre(0, 65535, 7));
  EXPECT_THAT((Converted<float>(ElementType::kInt64, whole, ElementType::kFloat32)), ElementsAre(-5, 70000, 7));
}

TEST(Elements, EveryHalfIsTheHalfOfItsFloat) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = FloatOfHalf(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(FloatOfHalf(HalfOf(value))));
    } else {
      ASSERT_EQ(HalfOf(value), half) << value;
    }
  }
}

TEST(Elements, HalvesAreRoundedToNearestEven) {
  EXPECT_EQ(HalfOf(1.0F + 0x1p-11F), 0x3c00);             // a tie
  EXPECT_EQ(HalfOf(1.0F + 3 * 0x1p-11F), 0x3c02);         // a tie to even
  EXPECT_EQ(HalfOf(1.0F + 0x1p-11F + 0x1p-20F), 0x3c01);  // more than half
  EXPECT_EQ(HalfOf(65519.0F), 0x7bff);
  EXPECT_EQ(HalfOf(65520.0F), 0x7c00);
  EXPECT_EQ(HalfOf(0x1p-25F), 0);  // a tie with 0
  EXPECT_EQ(HalfOf(-0x1.8p-25F), 0x8001);
}

TEST(Elements, HaveNamesAndShapes) {
  EXPECT_EQ(ParseElementType("int16"), ElementType::kInt16);
  EXPECT_EQ(ParseElementType("float"), std::nullopt);
  EXPECT_EQ(TypeText({ElementType::kUint8, {28, 0, 3}}), "uint8 [28, ?, 3]");
  EXPECT_EQ(CountOf({}), 1u);
  EXPECT_EQ(CountOf({std::uint64_t{1} << 40, 1 << 20}), std::nullopt);
}

}  // namespace
}  // namespace slipway::staging
