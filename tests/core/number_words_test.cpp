// NaN and the infinities as words.

#include "core/number_words.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace slipway {
namespace {

constexpr double kLargest = std::numeric_limits<double>::max();
constexpr double kUnbounded = std::numeric_limits<double>::infinity();

TEST(NumberWords, OnlyNumbersThatJsonLacksHaveOne) {
  EXPECT_EQ(WordOfNumber(std::nan("")), "NaN");
  EXPECT_EQ(WordOfNumber(kUnbounded), "Infinity");
  EXPECT_EQ(WordOfNumber(-kUnbounded), "-Infinity");
  for (const double number : {0.0, -0.5, kLargest, -kLargest}) {
    EXPECT_EQ(WordOfNumber(number), std::nullopt);
    EXPECT_EQ(JsonOf(number), Json(number));
  }
}

TEST(NumberWords, AreReadAsTheyAreWritten) {
  for (const double number : {0.25, kLargest, kUnbounded, -kUnbounded}) EXPECT_EQ(NumberOfJson(JsonOf(number)), number);
  const auto nan = NumberOfJson(JsonOf(std::nan("")));
  ASSERT_TRUE(nan);
  EXPECT_TRUE(std::isnan(*nan));
}

TEST(NumberWords, NothingElseIsANumber) {
  for (const auto* word : {"", "nan", "inf", "infinity", "+Infinity", "NaN ", "1"}) {
    EXPECT_EQ(NumberOfWord(word), std::nullopt) << word;
  }
  for (const auto& json : {Json(), Json(true), Json("1"), Json::array({1}), Json::object()}) {
    EXPECT_EQ(NumberOfJson(json), std::nullopt) << json;
  }
}

}  // namespace
}  // namespace slipway
