#include "ensemble/space/space.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/nearest_word.h"

namespace slipway::ensemble {
namespace {

using testing::HasSubstr;

std::string ErrorOf(const char* definition) {
  try {
    ParseParameter("lr", Json::parse(definition));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "no error";
}

std::string SpaceErrorOf(const char* definitions) {
  try {
    ParseSpace(Json::parse(definitions));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "no error";
}

TEST(Space, ReadsEveryKindOfDomain) {
  const auto log = ParseParameter("lr", Json::parse(R"({"log":[1e-4,1e-1]})"));
  EXPECT_DOUBLE_EQ(std::get<LogDomain>(log.domain).low, 1e-4);
  const auto integers = ParseParameter("layers", Json::parse(R"({"int":[1,1e1]})"));
  EXPECT_EQ(std::get<IntDomain>(integers.domain).high, 10);
  const auto choice = ParseParameter("x", Json::parse(R"({"choice":[32,"a",true,null,0.5]})"));
  EXPECT_EQ(std::get<ChoiceDomain>(choice.domain).values.size(), 5u);
  const auto fixed = ParseParameter("x", Json::parse(R"("sgd")"));
  EXPECT_EQ(std::get<FixedDomain>(fixed.domain).value, Scalar{"sgd"});
  const auto uniform = ParseParameter("m", Json::parse(R"({"uniform":[0,0.99],"when":{"optimizer":["sgd","adam"]}})"));
  ASSERT_TRUE(uniform.when.has_value());
  EXPECT_EQ(uniform.when->clauses[0].values.size(), 2u);
}

TEST(Space, SaysWhatIsWrongWithADefinition) {
  EXPECT_THAT(ErrorOf(R"({"uniform":[1,0]})"), HasSubstr("parameter 'lr': 'uniform' needs low < high, not [1,0]"));
  EXPECT_THAT(ErrorOf(R"({"uniform":[1,1]})"), HasSubstr("never changes"));
  EXPECT_THAT(ErrorOf(R"({"log":[0,1]})"), HasSubstr("'log' needs low > 0"));
  EXPECT_THAT(ErrorOf(R"({"log":["a",1]})"), HasSubstr("needs two numbers [low, high]"));
  EXPECT_THAT(ErrorOf(R"({"log":[1,2,3]})"), HasSubstr("needs two numbers"));
  EXPECT_THAT(ErrorOf(R"({"int":[1,2.5]})"), HasSubstr("needs integers"));
  EXPECT_THAT(ErrorOf(R"({"choice":[]})"), HasSubstr("'choice' has no values"));
  EXPECT_THAT(ErrorOf(R"({"choice":[1,1.0]})"), HasSubstr("twice"));
  EXPECT_THAT(ErrorOf(R"({"choice":[[1]]})"), HasSubstr("not [1]"));
  EXPECT_THAT(ErrorOf(R"({"chioce":[1]})"), HasSubstr("unknown kind 'chioce'; did you mean 'choice'?"));
  EXPECT_THAT(ErrorOf(R"({"quantised":[1]})"), HasSubstr("valid are 'uniform', 'log'"));
  EXPECT_THAT(ErrorOf(R"({"log":[1,2],"int":[1,2]})"), HasSubstr("has both 'log' and 'int'"));
  EXPECT_THAT(ErrorOf(R"({"when":{"a":1}})"), HasSubstr("has no domain"));
  EXPECT_THAT(ErrorOf(R"({"int_log":[0,8]})"), HasSubstr("'int_log' needs low >= 1"));
  EXPECT_THAT(ErrorOf(R"({"ordinal":["a","a"]})"), HasSubstr("'ordinal' holds \"a\" twice"));
  EXPECT_THAT(ErrorOf(R"({"log":[1,2],"step":1})"), HasSubstr("'step' belongs to 'uniform' and 'int', not to 'log'"));
  EXPECT_THAT(ErrorOf(R"({"int":[1,5],"step":0})"), HasSubstr("'step' must be a number above 0"));
  EXPECT_THAT(ErrorOf(R"({"int":[1,5],"step":1.5})"), HasSubstr("'step' needs integers"));
  EXPECT_THAT(ErrorOf(R"({"uniform":[0,1],"step":2})"), HasSubstr("'step' 2 is wider than the range"));
  EXPECT_THAT(ErrorOf(R"({"uniform":[0,1],"step":1e-12})"), HasSubstr("more than a billion values"));
  EXPECT_THAT(ErrorOf(R"([1,2])"), HasSubstr("a fixed value must be"));
  EXPECT_THAT(ErrorOf(R"({"log":[1,2],"when":3})"), HasSubstr("'when' needs"));
}

TEST(Space, RefusesNotANumber) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(ParseParameter("x", Json(nan)), Error);
  EXPECT_THROW(ParseParameter("x", Json{{"uniform", {0.0, nan}}}), Error);
  EXPECT_THROW(ParseParameter("x", Json{{"log", {1.0, std::numeric_limits<double>::infinity()}}}), Error);
  EXPECT_THROW(ParseParameter("x", Json{{"choice", {nan}}}), Error);
}

TEST(Space, ChecksConditionsAgainstTheOtherParameters) {
  EXPECT_THAT(
      SpaceErrorOf(R"({"optimizer":{"choice":["sgd","adam"]},"m":{"uniform":[0,1],"when":{"optimiser":"sgd"}}})"),
      HasSubstr("names 'optimiser', which is no parameter; did you mean 'optimizer'?"));
  EXPECT_THAT(SpaceErrorOf(R"({"o":{"choice":["sgd"]},"m":{"uniform":[0,1],"when":{"o":"adam"}}})"),
              HasSubstr("a value that 'o' never has"));
  EXPECT_THAT(SpaceErrorOf(R"({"o":{"uniform":[0,1]},"m":{"uniform":[0,1],"when":{"o":0.5}}})"),
              HasSubstr("cannot depend on 'o', which is 'uniform'"));
  EXPECT_THAT(SpaceErrorOf(R"({"a":{"int":[0,1],"when":{"b":1}},"b":{"int":[0,1],"when":{"a":1}}})"),
              HasSubstr("leads back to itself"));
  EXPECT_THAT(SpaceErrorOf(R"({"a":{"int":[0,1],"when":{"a":1}}})"), HasSubstr("leads back to itself"));
}

TEST(Space, RefusesTheSameNameTwice) {
  const auto parameter = ParseParameter("a", Json(1));
  EXPECT_THROW(MakeSearchSpace({parameter, parameter}), Error);
}

TEST(Space, PutsParametersAfterThoseTheyDependOn) {
  const auto space = ParseSpace(Json::parse(R"({"c":{"int":[0,1],"when":{"b":1}},"b":{"int":[0,1],"when":{"a":1}},
                                                "a":{"int":[0,1]},"z":3})"));
  std::string order;
  for (const auto& parameter : space.parameters()) order += parameter.name;
  EXPECT_EQ(order, "abcz");
}

TEST(Space, LetsConditionsDependOnConditions) {
  const auto space = ParseSpace(Json::parse(R"({"a":{"choice":["x","y"]},"b":{"int":[0,4],"step":2,"when":{"a":"x"}},
                                                "c":{"uniform":[0,1],"when":{"b":4}}})"));
  const auto& c = space.parameters()[2];
  EXPECT_TRUE(IsActive(c, PointFromJson(Json::parse(R"({"a":"x","b":4})"))));
  EXPECT_FALSE(IsActive(c, PointFromJson(Json::parse(R"({"a":"y"})"))));
  EXPECT_THAT(SpaceErrorOf(R"({"b":{"int":[0,4],"step":2},"c":{"int":[0,1],"when":{"b":3}}})"),
              HasSubstr("a value that 'b' never has"));
}

TEST(Space, ConditionsHoldHoweverTheirValuesCameAbout) {
  const auto space = ParseSpace(Json::parse(R"({"x":{"uniform":[0,1],"step":0.1},"n":{"int":[0,9007199254740993]},
    "a":{"int":[0,1],"when":{"x":0.30000000000000004}},"b":{"int":[0,1],"when":{"x":[0.7,0.1]}},
    "c":{"int":[0,1],"when":{"n":2.0}}})"));
  const auto is_active = [&](const char* name, const char* point) {
    return IsActive(*FindParameter(space.parameters(), name), PointFromJson(Json::parse(point)));
  };
  EXPECT_TRUE(is_active("a", R"({"x":0.3})"));
  EXPECT_TRUE(is_active("b", R"({"x":0.7})"));
  EXPECT_TRUE(is_active("c", R"({"n":2})"));
  EXPECT_EQ(ToJson(space)["a"]["when"]["x"].dump(), "[0.3]");
  EXPECT_EQ(ToJson(space)["c"]["when"]["n"].dump(), "[2]");
}

TEST(Space, NamesTheNearestOfTheValuesThatAConditionCouldWaitFor) {
  const auto error_of = [](const std::string& domain, const std::string& value) {
    return SpaceErrorOf((R"({"a":)" + domain + R"(,"b":{"int":[0,1],"when":{"a":)" + value + "}}}").c_str());
  };
  EXPECT_THAT(error_of(R"({"uniform":[0,1],"step":0.1})", "0.34"),
              HasSubstr("'when' waits for a = 0.34, a value that 'a' never has; the nearest is 0.3"));
  EXPECT_THAT(error_of(R"({"uniform":[-1,1],"step":0.25})", "7"), HasSubstr("the nearest is 1.0"));
  EXPECT_THAT(error_of(R"({"int":[0,64],"step":8})", "9"), HasSubstr("the nearest is 8"));
  EXPECT_THAT(error_of(R"({"int":[1,4]})", "-1e300"), HasSubstr("the nearest is 1"));
  EXPECT_THAT(error_of(R"({"int":[1,4]})", "1e300"), HasSubstr("the nearest is 4"));
  EXPECT_THAT(error_of(R"({"int_log":[8,1024]})", "8.7"), HasSubstr("the nearest is 9"));
  EXPECT_THAT(error_of(R"({"choice":[32,"auto",128]})", "60"), HasSubstr("the nearest is 32"));
  EXPECT_THAT(error_of(R"({"ordinal":["small","large"]})", R"("smal")"), HasSubstr("did you mean 'small'?"));
  EXPECT_THAT(error_of(R"({"choice":[true,false]})", "3"), testing::EndsWith("never has"));
}

std::string PointErrorOf(const SearchSpace& space, const char* point) {
  try {
    CheckedPoint(space, PointFromJson(Json::parse(point)));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "no error";
}

TEST(Space, ChecksPointsThatTheUserWrote) {
  const auto space = ParseSpace(Json::parse(R"({"o":{"choice":["sgd","adam"]},"lr":{"log":[1e-4,1]},
    "m":{"uniform":[0,1],"step":0.1,"when":{"o":"sgd"}},"n":{"uniform":[0,1],"when":{"m":0.5}},"":["lr < m or o == 'adam'"]})"));
  EXPECT_EQ(Describe(CheckedPoint(space, PointFromJson(Json::parse(R"({"m":0.30000000000000004,"lr":1e-3})")))),
            "lr=0.001 m=0.3");
  EXPECT_EQ(ToJson(CheckedPoint(space, PointFromJson(Json::parse(R"({"lr":1,"o":"adam"})")))).dump(),
            R"({"o":"adam","lr":1.0})");
  EXPECT_THAT(PointErrorOf(space, R"({"ir":1})"), HasSubstr("there is no parameter 'ir'; did you mean 'lr'?"));
  EXPECT_THAT(PointErrorOf(space, R"({"lr":2})"),
              HasSubstr("parameter 'lr': 2 is not one of its values; the nearest is 1"));
  EXPECT_THAT(PointErrorOf(space, R"({"o":2})"), HasSubstr("2 is not one of its values; valid are 'sgd', 'adam'"));
  EXPECT_THAT(PointErrorOf(space, R"({"lr":-3})"), HasSubstr("-3 is not one of its values; the nearest is 0.0001"));
  EXPECT_EQ(ToJson(CheckedPoint(space, PointFromJson(Json::parse(R"({"m":0.5000000000000001,"n":0})")))).dump(),
            R"({"m":0.5,"n":0.0})");
  EXPECT_THAT(PointErrorOf(space, R"({"o":"adam","m":0.5})"), HasSubstr("parameter 'm': it is not active"));
  EXPECT_THAT(PointErrorOf(space, R"({"o":"adam","n":0.5})"), HasSubstr("parameter 'n': it is not active"));
  EXPECT_THAT(PointErrorOf(space, R"({"lr":0.5,"o":"sgd","m":0.2})"), HasSubstr("breaks the constraint \"lr < m"));
}

TEST(Space, WritesWhatItReads) {
  const Json json = Json::parse(R"({"uniform":[0.0,0.99],"when":{"optimizer":["sgd"]}})");
  EXPECT_EQ(ToJson(ParseParameter("m", json)), json);
}

TEST(ConfigurationHash, IsTheSameForTheSameConfiguration) {
  const auto hash = ConfigurationHash(Json::parse(R"({"a":2,"b":"x"})"));
  EXPECT_EQ(hash.size(), 32u);
  EXPECT_EQ(hash, ConfigurationHash(Json::parse(R"({"b":"x","a":2.0})")));
  EXPECT_NE(hash, ConfigurationHash(Json::parse(R"({"a":"2","b":"x"})")));
  EXPECT_NE(hash, ConfigurationHash(Json::parse(R"({"a":2})")));
  EXPECT_NE(ConfigurationHash(Json::parse(R"({"a":true})")), ConfigurationHash(Json::parse(R"({"a":1})")));
}

TEST(NearestWord, FindsTheMistypedWordAndNothingFarAway) {
  const std::vector<std::string> words = {"uniform", "log", "choice"};
  EXPECT_EQ(NearestWord("unifrom", words), "uniform");
  EXPECT_EQ(NearestWord("LOG", words), "log");
  EXPECT_EQ(NearestWord("quantised", words), "");
  EXPECT_EQ(NearestWord("", words), "");
  const std::vector<std::string> goals = {"minimize", "maximize"};
  EXPECT_EQ(NearestWord("min", goals), "minimize");
  EXPECT_EQ(NearestWord("Max", goals), "maximize");
  EXPECT_EQ(NearestWord("m", goals), "") << "begins both";
}

}  // namespace
}  // namespace slipway::ensemble
