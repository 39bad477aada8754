#include "ensemble/search/cube/encoding.h"

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "ensemble/samplers/sampler.h"

namespace slipway::ensemble {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsNan;

Encoding EncodingOfSpace(const char* space) { return Encoding(ParseSpace(Json::parse(space))); }
Point PointOf(const char* point) { return PointFromJson(Json::parse(point)); }

constexpr const char* kMixedToEncode = R"({"optimizer":{"choice":["sgd","adam","rmsprop"]},"lr":{"log":[1e-4,1]},
  "layers":{"int":[1,4]},"momentum":{"uniform":[0,0.5],"when":{"optimizer":"sgd"}},"batch":64})";

TEST(Encoding, LaysEveryVaryingParameterOnAnAxis) {
  const auto encoding = EncodingOfSpace(kMixedToEncode);
  ASSERT_EQ(encoding.axes().size(), 4u);
  EXPECT_THAT(encoding.Encode(PointOf(R"({"optimizer":"adam","lr":0.01,"layers":2,"batch":64})")),
              ElementsAre(1.0, DoubleNear(0.5, 1e-12), DoubleNear(0.375, 1e-12), IsNan()));
}

TEST(Encoding, DecodesTheNearestPointAndLeavesInactiveParametersOut) {
  const auto encoding = EncodingOfSpace(kMixedToEncode);
  EXPECT_EQ(Describe(encoding.Decode({1.2, 2.0, 0.99, 0.5})), "optimizer=adam lr=1 layers=4 batch=64");
  EXPECT_EQ(Describe(encoding.Decode({-7, -0.5, -1, 0.5})), "optimizer=sgd lr=0.0001 layers=1 momentum=0.25 batch=64");
}

TEST(Encoding, TakesTheMiddleWhereNobodySaid) {
  const auto encoding = EncodingOfSpace(R"({"x":{"uniform":[0,4]},"c":{"choice":["a","b"]}})");
  EXPECT_EQ(Describe(encoding.Decode({NAN, NAN})), "x=2 c=a");
}

TEST(Encoding, CarriesTheWidestIntegers) {
  const auto encoding = EncodingOfSpace(R"({"n":{"int":[-9223372036854775808,9223372036854775807]}})");
  EXPECT_EQ(Describe(encoding.Decode({0})), "n=-9223372036854775808");
  EXPECT_EQ(Describe(encoding.Decode({1})), "n=9223372036854775807");
}

TEST(Encoding, LaysIntegersOutEvenlyInTheirLogarithm) {
  const auto encoding = EncodingOfSpace(R"({"n":{"int_log":[1,1000]}})");
  EXPECT_EQ(Describe(encoding.Decode({0})), "n=1");
  EXPECT_EQ(Describe(encoding.Decode({0.5})), "n=22");  // the root of 0.5 x 1000.5
  EXPECT_EQ(Describe(encoding.Decode({1})), "n=1000");
  for (const char* point : {R"({"n":1})", R"({"n":2})", R"({"n":31})", R"({"n":1000})"}) {
    EXPECT_EQ(encoding.Decode(encoding.Encode(PointOf(point))), PointOf(point));
  }
}

TEST(Encoding, GivesEveryPointBackThatASamplerDraws) {
  const auto encoding = EncodingOfSpace(kMixedToEncode);
  const auto sampler = MakeSampler({"random", 7, 3, 1}, encoding.space());
  rc::check([&] {
    const auto point = *sampler->Ask(*rc::gen::inRange<TrialNumber>(0, 1'000'000), TrialTable());
    const auto back = encoding.Decode(encoding.Encode(point));
    RC_ASSERT(back.size() == point.size());
    for (std::size_t i = 0; i < point.size(); ++i) {
      RC_ASSERT(back[i].first == point[i].first);
      const auto* number = std::get_if<double>(&point[i].second);
      if (number == nullptr)
        RC_ASSERT(SameValue(back[i].second, point[i].second));
      else
        RC_ASSERT(std::abs(std::get<double>(back[i].second) / *number - 1) < 1e-12);
    }
  });
}

}  // namespace
}  // namespace slipway::ensemble
