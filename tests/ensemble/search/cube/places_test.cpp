#include "ensemble/search/cube/places.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace slipway::ensemble {
namespace {

TEST(Places, APartIsWhatIsRoundedToTheSameValue) {
  const Encoding encoding(ParseSpace(Json::parse(
      R"({"a":{"int":[3,9]},"b":{"int_log":[1,100000]},"c":{"ordinal":["s","m","l"]},
          "d":{"uniform":[0,1],"step":0.1}})")));
  for (std::size_t axis = 0; axis < 4; ++axis) {
    ASSERT_TRUE(HasParts(encoding, axis));
    for (const double at : {0.0, 0.41, 0.5, 0.62, 1.0}) {
      const auto part = PartAround(encoding, axis, at);
      EXPECT_TRUE(part.low <= at && at <= part.high);
      EXPECT_EQ(part.is_first, at == 0);
      EXPECT_EQ(part.is_last, at == 1);
      const auto value_at = [&](double x) {
        Coordinates all(4, 0.5);
        all[axis] = x;
        return encoding.Decode(all);
      };
      EXPECT_NEAR(encoding.Encode(value_at(at))[axis], part.place, 1e-12);
      const double just = 0.01 * (part.high - part.low);
      EXPECT_EQ(value_at(part.low + just), value_at(part.high - just));
      EXPECT_NE(value_at(part.low - just) == value_at(at), !part.is_first);
      EXPECT_NE(value_at(part.high + just) == value_at(at), !part.is_last);
    }
  }
}

TEST(Places, ContinuousCategoricalAndEndlessAxesHaveNone) {
  const Encoding encoding(ParseSpace(Json::parse(
      R"({"a":{"uniform":[0,1]},"b":{"choice":[1,2]},"c":{"int":[-9223372036854775808,9223372036854775807]}})")));
  for (std::size_t axis = 0; axis < 3; ++axis) EXPECT_FALSE(HasParts(encoding, axis));
}

}  // namespace
}  // namespace slipway::ensemble
