#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "ensemble/exchange/optuna.h"
#include "ensemble/space/space.h"

namespace slipway::ensemble {
namespace {

Domain StoredDomainOf(const char* definition) { return ParseParameter("p", Json::parse(definition)).domain; }

Json DistributionOf(const char* definition) { return Json::parse(OptunaDistribution(StoredDomainOf(definition))); }

TEST(OptunaDistribution, NamesEveryKindAsOptunaDoes) {
  EXPECT_EQ(
      DistributionOf(R"({"uniform":[-5,5]})"),
      Json::parse(R"({"name":"FloatDistribution","attributes":{"step":null,"low":-5.0,"high":5.0,"log":false}})"));
  EXPECT_EQ(DistributionOf(R"({"log":[1e-5,1]})"),
            Json::parse(R"({"name":"FloatDistribution","attributes":{"step":null,"low":1e-5,"high":1.0,"log":true}})"));
  EXPECT_EQ(DistributionOf(R"({"int":[1,4]})"),
            Json::parse(R"({"name":"IntDistribution","attributes":{"log":false,"step":1,"low":1,"high":4}})"));
  EXPECT_EQ(DistributionOf(R"({"int_log":[8,1024]})"),
            Json::parse(R"({"name":"IntDistribution","attributes":{"log":true,"step":1,"low":8,"high":1024}})"));
  EXPECT_EQ(DistributionOf(R"({"choice":["sgd",null,true,2]})"),
            Json::parse(R"({"name":"CategoricalDistribution","attributes":{"choices":["sgd",null,true,2]}})"));
  EXPECT_EQ(DistributionOf("3"), Json::parse(R"({"name":"CategoricalDistribution","attributes":{"choices":[3]}})"));
}

TEST(OptunaDistribution, EndsSteppedRangesAtTheirLastValue) {
  EXPECT_EQ(DistributionOf(R"({"int":[8,70],"step":8})")["attributes"]["high"], 64);
  EXPECT_EQ(DistributionOf(R"({"uniform":[0,0.75],"step":0.1})")["attributes"]["high"], 0.7);
}

TEST(OptunaDistribution, EveryValueComesBack) {
  for (const char* definition :
       {R"({"uniform":[-5,5],"step":0.5})", R"({"int":[-3,70],"step":8})", R"({"int_log":[8,64]})",
        R"({"choice":["sgd",null,true,2,2.5,""]})", R"({"ordinal":["s","m"]})", R"({"fixed":"x"})"}) {
    const auto domain = StoredDomainOf(definition);
    for (std::uint64_t index = 0; index < CountValues(domain); ++index) {
      const Scalar value = ValueAt(domain, index);
      const auto back = FromOptunaNumber(OptunaDistribution(domain), OptunaNumber(domain, value));
      ASSERT_TRUE(back) << definition << " " << Describe(value);
      EXPECT_TRUE(SameValue(*back, value)) << definition << " " << Describe(value);
    }
  }
}

TEST(FromOptunaNumber, RefusesWhatOptunaCannotHaveStored) {
  const auto categorical = OptunaDistribution(StoredDomainOf(R"({"choice":["a","b"]})"));
  const auto integer = OptunaDistribution(StoredDomainOf(R"({"int":[1,4]})"));
  const double nan = std::nan("");
  EXPECT_FALSE(FromOptunaNumber(categorical, 2));
  EXPECT_FALSE(FromOptunaNumber(categorical, -1));
  EXPECT_FALSE(FromOptunaNumber(categorical, nan));
  EXPECT_FALSE(FromOptunaNumber(integer, 1.5));
  EXPECT_FALSE(FromOptunaNumber(integer, 1e300));
  EXPECT_FALSE(FromOptunaNumber(integer, HUGE_VAL));
  for (const char* text : {"", "[]", "3", "{", R"({"name":"FloatDistribution"})", R"({"name":7,"attributes":{}})",
                           R"({"name":"OtherDistribution","attributes":{}})",
                           R"({"name":"CategoricalDistribution","attributes":{"choices":7}})",
                           R"({"name":"CategoricalDistribution","attributes":{"choices":[[1]]}})"}) {
    EXPECT_FALSE(FromOptunaNumber(text, 0)) << text;
  }
}

}  // namespace
}  // namespace slipway::ensemble
