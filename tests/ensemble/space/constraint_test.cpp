#include "ensemble/space/constraint.h"

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "ensemble/samplers/sampler.h"
#include "ensemble/search/cube/free_points.h"
#include "ensemble/search/cube/grid_walk.h"

namespace slipway::ensemble {
namespace {

using testing::HasSubstr;

constexpr const char* kConstrainedSpace =
    R"({"optimizer":{"choice":["sgd","adam"]},"lr":{"log":[1e-4,1]},"layers":{"int":[1,4]},
  "units_0":{"int_log":[8,1024]},"units_1":{"int_log":[8,1024],"when":{"layers":[2,3,4]}},
  "size":{"ordinal":["small","large"]},"flag":{"choice":[true,false]},"mixed":{"choice":[1,"a",null]},
  "weight-decay":{"uniform":[0,1]},"x":{"uniform":[0,1],"step":0.1},"y":{"uniform":[0,1],"step":0.1}})";

const std::vector<Parameter>& Parameters() {
  static const auto space = ParseSpace(Json::parse(kConstrainedSpace));
  return space.parameters();
}

bool Holds(const char* text, const char* point) {
  return Constraint(text, Parameters()).HoldsAt(PointFromJson(Json::parse(point)));
}

std::string ErrorOf(const std::string& text) {
  try {
    const Constraint constraint(text, Parameters());
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "no error";
}

TEST(Constraint, ComparesNumbersAndTexts) {
  EXPECT_TRUE(Holds("units_1 <= units_0", R"({"units_0":64,"units_1":64})"));
  EXPECT_FALSE(Holds("units_1 < units_0", R"({"units_0":64,"units_1":64})"));
  EXPECT_FALSE(Holds("units_1 > units_0", R"({"units_0":64,"units_1":64})"));
  EXPECT_TRUE(Holds("units_1 >= units_0", R"({"units_0":64,"units_1":64})"));
  EXPECT_TRUE(Holds("optimizer == 'sgd'", R"({"optimizer":"sgd"})"));
  EXPECT_FALSE(Holds("optimizer != \"sgd\"", R"({"optimizer":"sgd"})"));
  EXPECT_TRUE(Holds("optimizer in ['adam', 'sgd']", R"({"optimizer":"sgd"})"));
  EXPECT_FALSE(Holds("layers not in [1, 2]", R"({"layers":2})"));
  EXPECT_TRUE(Holds("mixed == null", R"({"mixed":null})"));
  EXPECT_TRUE(Holds("mixed != 'a'", R"({"mixed":1})"));
  EXPECT_TRUE(Holds("flag", R"({"flag":true})"));
  EXPECT_FALSE(Holds("not flag", R"({"flag":true})"));
}

TEST(Constraint, ComputesAsEveryoneExpects) {
  EXPECT_TRUE(Holds("2 + 3 * 4 == 14 and (2 + 3) * 4 == 20", "{}"));
  EXPECT_TRUE(Holds("2 ** 3 ** 2 == 512 and -2 ** 2 == -4 and 7 % 4 == 3", "{}"));
  EXPECT_TRUE(Holds("10 - 3 - 2 == 5 and 12 / 3 / 2 == 2", "{}"));
  EXPECT_TRUE(Holds("1 < 2 < 3", "{}"));
  EXPECT_FALSE(Holds("1 < 3 < 3", "{}"));
  EXPECT_TRUE(Holds("log10(lr) < -2 and max(layers, 2, 1) == 3 and round(1.6) == 2", R"({"lr":1e-3,"layers":3})"));
  EXPECT_TRUE(Holds("true or false and false", "{}"));
  EXPECT_TRUE(Holds("not false and true", "{}"));
  EXPECT_TRUE(Holds("`weight-decay` * 1e2 <= .5e2", R"({"weight-decay":0.5})"));
}

TEST(Constraint, MeansTheDecimalsThatItSays) {
  EXPECT_TRUE(Holds("x == 0.30000000000000004 and x in [0.1, 0.30000000000000004]", R"({"x":0.3})"));
  EXPECT_TRUE(Holds("x + y == 0.3 and x + y <= 0.3 and not x + y > 0.3", R"({"x":0.1,"y":0.2})"));
  EXPECT_TRUE(Holds("0.3 - x - y == 0 and x + y - 0.3 >= 0", R"({"x":0.1,"y":0.2})"));
  EXPECT_TRUE(Holds("x % 0.1 == 0 and floor(x / 0.1) == 3 and ceil(0.1 * 3 / 0.3) == 1", R"({"x":0.3})"));
  EXPECT_FALSE(Holds("x + y == 0.3", R"({"x":0.1,"y":0.1})"));
  EXPECT_FALSE(Holds("x % 0.2 == 0", R"({"x":0.3})"));
  EXPECT_TRUE(Holds("layers + 1e15 < 1e15 + 3", R"({"layers":2})"));
  EXPECT_FALSE(Holds("1e300 * 1e300 == 5", "{}"));
}

TEST(Constraint, ComparesWholeNumbersExactly) {
  EXPECT_FALSE(Holds("layers % 2 == 0", R"({"layers":1000000000000001})"));
  EXPECT_FALSE(Holds("layers % 1000 == 0", R"({"layers":600000000000001})"));
  EXPECT_FALSE(Holds("layers == mixed", R"({"layers":9007199254740993,"mixed":9007199254740992})"));
  EXPECT_TRUE(Holds("floor(x) == 400000000000000", R"({"x":400000000000000.5})"));
}

TEST(Constraint, IsNotMetByADivisionByZero) {
  EXPECT_FALSE(Holds("layers % 0 == 0", R"({"layers":7})"));
  EXPECT_FALSE(Holds("x % 0 == 0", R"({"x":0.5})"));
  EXPECT_FALSE(Holds("1e300 * 1e300 % 3 == 0", "{}"));
}

TEST(Constraint, IsNotBrokenByWhatIsNotActive) {
  EXPECT_TRUE(Holds("units_1 <= units_0", R"({"units_0":64})"));
  EXPECT_TRUE(Holds("not units_1 <= units_0", R"({"units_0":64})"));
  EXPECT_TRUE(Holds("units_1 > 5 or lr < 0.1", R"({"lr":0.5})"));
  EXPECT_FALSE(Holds("units_1 > 5 and lr < 0.1", R"({"lr":0.5})"));
  EXPECT_FALSE(Holds("optimizer == 'sgd' or lr < 0.01", R"({"optimizer":"adam","lr":0.1})"));
}

TEST(Constraint, NamesTheExpressionThePlaceAndTheNearestWord) {
  EXPECT_THAT(ErrorOf("units_1 <= unit_0"),
              HasSubstr("constraint \"units_1 <= unit_0\", character 12: there is no parameter 'unit_0'; did you mean "
                        "'units_0'?"));
  EXPECT_THAT(ErrorOf("optimizer == 'sdg'"),
              HasSubstr("character 14: 'optimizer' never has the value \"sdg\"; did you mean 'sgd'?"));
  EXPECT_THAT(ErrorOf("layers == 9"), HasSubstr("'layers' never has the value 9; the nearest is 4"));
  EXPECT_THAT(ErrorOf("x in [0.1, 0.36]"), HasSubstr("'x' never has the value 0.36; the nearest is 0.4"));
  EXPECT_THAT(ErrorOf("sqr(lr) < 1"), HasSubstr("there is no function 'sqr'; did you mean 'sqrt'?"));
  EXPECT_THAT(ErrorOf("lr = 1"), HasSubstr("character 4: unknown sign '='; did you mean '=='?"));
  EXPECT_THAT(ErrorOf("lr < 1 && layers > 1"), HasSubstr("did you mean 'and'?"));
}

TEST(Constraint, RefusesWhatMakesNoSense) {
  EXPECT_THAT(ErrorOf("lr"), HasSubstr("this is a number, but true or false is needed"));
  EXPECT_THAT(ErrorOf("optimizer < 3"), HasSubstr("texts have no order"));
  EXPECT_THAT(ErrorOf("optimizer == 3"), HasSubstr("a text is never equal to a number"));
  EXPECT_THAT(ErrorOf("optimizer + 1 < 3"), HasSubstr("this is a text, but a number is needed"));
  EXPECT_THAT(ErrorOf("lr and flag"), HasSubstr("but true or false is needed"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("is missing before the end"));
  EXPECT_THAT(ErrorOf("lr <"), HasSubstr("is missing before the end"));
  EXPECT_THAT(ErrorOf("(lr < 1"), HasSubstr("')' is missing"));
  EXPECT_THAT(ErrorOf("lr < 1)"), HasSubstr("')' is not expected here"));
  EXPECT_THAT(ErrorOf("lr < 1 layers"), HasSubstr("'layers' is not expected here"));
  EXPECT_THAT(ErrorOf("optimizer == 'sgd"), HasSubstr("the quote of this text is not closed"));
  EXPECT_THAT(ErrorOf("lr < 1e999"), HasSubstr("too large"));
  EXPECT_THAT(ErrorOf("lr < 1x"), HasSubstr("a number ends in a letter"));
  EXPECT_THAT(ErrorOf("min(lr) < 1"), HasSubstr("'min' takes two or more numbers"));
  EXPECT_THAT(ErrorOf("lr # 1"), HasSubstr("unknown sign"));
}

TEST(Constraint, IsBoundedWhateverIsWritten) {
  EXPECT_THAT(ErrorOf(std::string(2000, '1')), HasSubstr("it has 2000 characters; at most 1000 are read"));
  EXPECT_THAT(ErrorOf(std::string(900, '(') + "lr"), HasSubstr("nested too deeply"));
  EXPECT_THAT(ErrorOf(std::string(900, '-') + "lr < 1"), HasSubstr("nested too deeply"));
  std::string chains = "true";
  for (int i = 0; i < 30; ++i) chains = "true==(" + chains + ")==true";
  EXPECT_THAT(ErrorOf(chains), HasSubstr("nested too deeply"));
  std::string nots, sum = "lr";
  for (int i = 0; i < 240; ++i) nots += "not ";
  for (int i = 0; i < 450; ++i) sum += "+1";
  EXPECT_THAT(ErrorOf(nots + "flag"), HasSubstr("nested too deeply"));
  EXPECT_TRUE(Constraint(sum + " < 500", Parameters()).HoldsAt(PointFromJson(Json::parse(R"({"lr":1})"))));
}

TEST(Constraint, SurvivesAnyText) {
  const std::vector<std::string> pieces = {"lr", "optimizer", "'sgd'", "3",   "(",    ")",    "[",  "]",
                                           ",",  "<",         "==",    "and", "or",   "not",  "in", "-",
                                           "**", "log",       "flag",  " ",   "\xff", "null", "`",  "\""};
  rc::check("it is read or refused", [&] {
    std::string text;
    for (const auto i :
         *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, pieces.size()))) {
      text += pieces[i];
    }
    try {
      Constraint(text, Parameters()).HoldsAt(PointFromJson(Json::parse(R"({"lr":0.1,"optimizer":"sgd","flag":true})")));
    } catch (const Error& error) {
      RC_ASSERT(error.kind() == ErrorKind::kUsage);
    }
  });
}

SearchSpace Constrained(const char* parameters, const std::vector<std::string>& constraints) {
  auto plain = ParseSpace(Json::parse(parameters));
  return MakeSearchSpace(plain.parameters(), constraints);
}

TEST(ConstrainedSpace, OfSamplersHoldsOnlyPointsThatMeetTheConstraints) {
  const auto space = Constrained(kConstrainedSpace, {"units_1 <= units_0", "optimizer == 'sgd' or lr < 0.01"});
  for (const char* name : {"random", "sobol"}) {
    const auto sampler = MakeSampler({name, 3}, space);
    for (TrialNumber trial = 0; trial < 300; ++trial) EXPECT_TRUE(space.Allows(*sampler->Ask(trial, {})));
  }
}

TEST(ConstrainedSpace, IsFoundHoweverNarrowItIs) {
  const auto space = Constrained(R"({"a":{"uniform":[0,1]},"b":{"uniform":[0,1]},"c":{"int":[0,1000]}})",
                                 {"a < 0.05", "0 <= b - a < 0.05", "c == 77"});
  const auto sampler = MakeSampler({"random", 3}, space);
  for (TrialNumber trial = 0; trial < 20; ++trial) EXPECT_TRUE(space.Allows(*sampler->Ask(trial, {})));
}

TEST(ConstrainedSpace, WithoutAFurtherPointRepeatsOneOfAnEarlierTrial) {
  const auto space = Constrained(R"({"a":{"uniform":[0,1]},"b":{"uniform":[0,1]}})", {"a == b"});
  for (const auto* name : {"random", "sobol", "tpe", "gp"}) {
    const auto sampler = MakeSampler({name, 3}, space);
    TrialTable earlier;
    for (TrialNumber trial = 0; trial < 6; ++trial) {  // draws never meet it, and the grid has three points
      TrialRecord record;
      record.number = trial;
      record.parameters = sampler->Ask(trial, earlier).value();
      record.configuration = ConfigurationHash(record.parameters);
      EXPECT_TRUE(space.Allows(record.parameters)) << name << " " << trial;
      earlier.Add(record);
    }
  }
}

TEST(ConstrainedSpace, OfAGridIsWalkedWithoutDeadEnds) {
  const auto space = Constrained(R"({"a":{"int":[1,100000]},"b":{"int":[1,100000]},"c":{"choice":["x","y"]}})",
                                 {"a <= 2", "b > 99998 or c == 'x' and a == 1 and b < 3"});
  // a in {1, 2}: b in {99999, 100000} with x and y; for a = 1 also b in {1, 2} with x
  EXPECT_EQ(GridSize({"grid"}, space), 10);
}

TEST(ConstrainedSpace, WithFewPointsAmongVeryManyIsNotWalkedToTheEnd) {
  const auto space = Constrained(R"({"a":{"int":[1,100000]},"b":{"int":[1,100000]}})", {"a * b == 100000"});
  GridWalk walk(space, 3, 1000);
  EXPECT_FALSE(walk.Next());
  EXPECT_TRUE(walk.has_given_up());
  EXPECT_EQ(CountGrid(space, 3, 50), 50) << "not known";
}

TEST(ConstrainedSpace, WithoutAnyPointIsRefusedByTheConstraintThatBreaksMost) {
  const auto space = Constrained(R"({"a":{"uniform":[0,1]},"b":{"uniform":[0,1]}})", {"a < 0.9", "b > 1"});
  try {
    CheckFeasible(space);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("most often broken is \"b > 1\""));
  }
}

TEST(ConstrainedSpace, IsWrittenAndReadBack) {
  const auto space = Constrained(R"({"a":{"uniform":[0,1],"step":0.25},"b":{"ordinal":[1,5]}})", {"a < b"});
  const auto json = ToJson(space);
  EXPECT_EQ(json, Json::parse(R"({"a":{"uniform":[0.0,1.0],"step":0.25},"b":{"ordinal":[1,5]},"":["a < b"]})"));
  EXPECT_EQ(ToJson(ParseSpace(json)), json);
}

}  // namespace
}  // namespace slipway::ensemble
