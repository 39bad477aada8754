#include "ensemble/analysis/importance.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "ensemble/analysis/ped_anova.h"
#include "tests/ensemble/analysis/analysis_support.h"

namespace slipway::ensemble {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr auto kFourAxes =
    R"({"a":{"uniform":[0,1]},"b":{"uniform":[0,1]},"c":{"uniform":[0,1]},"d":{"uniform":[0,1]}})";

std::vector<std::string> NamesOf(const Importances& importances) {
  std::vector<std::string> names;
  for (const auto& parameter : importances.parameters) names.push_back(parameter.parameter);
  return names;
}

double ShareOf(const Importances& importances, const std::string& name) {
  return std::ranges::find(importances.parameters, name, &ParameterImportance::parameter)->share;
}

std::string ErrorOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.message();
  }
  return "no error";
}

/// Twenty trials, ten with each value of `x` and of `y`; the best five all have the first x, three of them the first y.
Observations CountedTrials(const Encoding& encoding) {
  Observations known;
  for (int trial = 0; trial < 20; ++trial) {
    const double x = trial < 10 ? 0 : 1;
    const double y = trial < 3 || trial >= 13 ? 0 : 1;
    known.complete.push_back({trial, encoding.Snap({x, y}), trial * 1.0, {}});
  }
  return known;
}

TEST(PedAnova, GivesTheDivergenceOfCountedCategories) {
  const auto encoding = EncodingOf(R"({"x":{"choice":["a","b"]},"y":{"choice":["a","b"]}})");
  const auto known = CountedTrials(encoding);
  // x: (1 - 0.5)^2 / 0.5 + (0 - 0.5)^2 / 0.5 = 1, of which choosing 5 of 20 at random gives (20 - 5) / (5 * 19).
  // y: 2 * 0.1^2 / 0.5 = 0.04 is less than that.
  const auto divergences = PedAnova(encoding, known.complete);
  EXPECT_NEAR(divergences[0], 1 - 15.0 / 95, 1e-12);
  EXPECT_EQ(divergences[1], 0);
}

TEST(PedAnova, TakesValuesEqualToTheLastOfTheBestForBest) {
  const auto encoding = EncodingOf(R"({"x":{"choice":["a","b"]}})");
  Observations known;
  for (int trial = 0; trial < 20; ++trial) known.complete.push_back({trial, {trial < 10 ? 0.0 : 1.0}, 0.0, {}});
  EXPECT_THAT(PedAnova(encoding, known.complete), Each(0));
  for (auto& trial : known.complete) trial.value = trial.at[0];
  EXPECT_NEAR(PedAnova(encoding, known.complete)[0], 1 - 10.0 / 190, 1e-12);
}

TEST(PedAnova, RanksParametersAsTheFunctionDoes) {
  const auto encoding = EncodingOf(kFourAxes);
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const auto known = RandomTrials(
        encoding, 400, [](const auto& at) { return at[0] + 4 * at[1] + 2 * at[2]; }, seed);
    const auto importances = ImportancesOf(encoding, known);
    EXPECT_THAT(NamesOf(importances), testing::ElementsAre("b", "c", "a", "d")) << seed;
    EXPECT_LT(ShareOf(importances, "d"), 0.02) << seed;
  }
}

TEST(PedAnova, GivesNextToNothingToParametersThatDoNothing) {
  const auto encoding = EncodingOf(
      R"({"lr":{"log":[1e-5,1]},"n":{"int":[1,4]},"wide":{"int_log":[8,1024]},"c":{"choice":["a","b","c"]}})");
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const auto known = RandomTrials(
        encoding, 100, [](const auto& at) { return std::abs(at[0] - 0.4); }, seed);
    EXPECT_GT(ShareOf(ImportancesOf(encoding, known), "lr"), 0.85) << seed;
  }
}

TEST(PedAnova, KnowsOnlyRanks) {
  const auto encoding = EncodingOf(kFourAxes);
  auto known = RandomTrials(encoding, 60, [](const auto& at) { return at[0] + 0.3 * at[3]; });
  const auto before = PedAnova(encoding, known.complete);
  for (auto& trial : known.complete) trial.value = std::exp(20 * trial.value);
  std::ranges::reverse(known.complete);
  const auto after = PedAnova(encoding, known.complete);
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(after[i], before[i], 1e-9);
}

TEST(PedAnova, CountsInactiveAsAValue) {
  const auto encoding =
      EncodingOf(R"({"opt":{"choice":["adam","sgd"]},"momentum":{"uniform":[0,1],"when":{"opt":"sgd"}}})");
  const auto known = RandomTrials(encoding, 200, [](const auto& at) { return at[0]; });
  const auto divergences = PedAnova(encoding, known.complete);
  EXPECT_GT(divergences[0], 0.5);
  EXPECT_NEAR(divergences[1], divergences[0], 0.1);  // good trials have no momentum
}

TEST(Fanova, TakesTheVarianceOfAnAdditiveFunctionApart) {
  const auto encoding = EncodingOf(kFourAxes);
  const auto known = RandomTrials(encoding, 1000, [](const auto& at) { return 2 * at[0] + at[1]; });
  const auto importances = ImportancesOf(encoding, known, {ImportanceMethod::kFanova, true, 1});
  EXPECT_NEAR(ShareOf(importances, "a"), 0.8, 0.03);
  EXPECT_NEAR(ShareOf(importances, "b"), 0.2, 0.03);
  EXPECT_LT(ShareOf(importances, "c"), 0.01);
  for (const auto& pair : importances.pairs) EXPECT_LT(pair.share, 0.02) << pair.first << pair.second;
}

TEST(Fanova, FindsWhatOnlyTwoParametersTogetherExplain) {
  const auto encoding = EncodingOf(kFourAxes);
  const auto known = RandomTrials(encoding, 1000, [](const auto& at) { return (at[1] - 0.5) * (at[3] - 0.5); });
  const auto importances = ImportancesOf(encoding, known, {ImportanceMethod::kFanova, true, 1});
  EXPECT_EQ(importances.pairs.front().first, "b");
  EXPECT_EQ(importances.pairs.front().second, "d");
  EXPECT_GT(importances.pairs.front().share, 0.8);
  for (const auto& parameter : importances.parameters) EXPECT_LT(parameter.share, 0.06) << parameter.parameter;
}

TEST(Fanova, IsExactWhereTheForestIs) {
  const auto encoding = EncodingOf(R"({"x":{"choice":["a","b","c"]},"y":{"uniform":[0,1]}})");
  const auto known = RandomTrials(encoding, 90, [](const auto& at) { return at[0] == 1 ? 5.0 : -1.0; });
  const auto importances = ImportancesOf(encoding, known, {ImportanceMethod::kFanova, false, 1});
  EXPECT_NEAR(ShareOf(importances, "x"), 1, 1e-12);
  EXPECT_NEAR(ShareOf(importances, "y"), 0, 1e-12);
}

TEST(Fanova, GivesNothingWhenNothingVaries) {
  const auto encoding = EncodingOf(kFourAxes);
  const auto known = RandomTrials(encoding, 20, [](const auto&) { return 3.0; });
  for (const auto& parameter : ImportancesOf(encoding, known, {ImportanceMethod::kFanova, false, 1}).parameters) {
    EXPECT_EQ(parameter.share, 0);
  }
}

TEST(Importance, SharesOfPedAnovaSumToOne) {
  const auto encoding = EncodingOf(kFourAxes);
  const auto importances =
      ImportancesOf(encoding, RandomTrials(encoding, 30, [](const auto& at) { return at[0] * at[1]; }));
  double sum = 0;
  for (const auto& parameter : importances.parameters) sum += parameter.share;
  EXPECT_NEAR(sum, 1, 1e-12);
  EXPECT_EQ(importances.trials, 30u);
}

TEST(Importance, LeavesFailedTrialsOutAndSaysHowMany) {
  const auto encoding = EncodingOf(kFourAxes);
  auto known = RandomTrials(encoding, 20, [](const auto& at) { return at[0]; });
  known.failed.assign(3, {0.5, 0.5, 0.5, 0.5});
  EXPECT_EQ(ImportancesOf(encoding, known).left_out, 3u);
}

TEST(Importance, RefusesFewTrials) {
  const auto encoding = EncodingOf(kFourAxes);
  auto known = RandomTrials(encoding, 9, [](const auto& at) { return at[0]; });
  known.failed.assign(2, {0.5, 0.5, 0.5, 0.5});
  EXPECT_THAT(ErrorOf([&] { ImportancesOf(encoding, known); }),
              HasSubstr("at least 10 trials with a value, this ensemble has 9 (2 ended without, 0 not ended)"));
  known = RandomTrials(encoding, 10, [](const auto& at) { return at[0]; });
  for (const auto method : {ImportanceMethod::kPedAnova, ImportanceMethod::kFanova}) {
    EXPECT_EQ(ImportancesOf(encoding, known, {method, false, 1}).parameters.size(), 4u);
  }
}

TEST(Importance, GivesPairsOnlyByFanova) {
  const auto encoding = EncodingOf(kFourAxes);
  const auto known = RandomTrials(encoding, 20, [](const auto& at) { return at[0]; });
  EXPECT_THAT(ErrorOf([&] {
                ImportancesOf(encoding, known, {ImportanceMethod::kPedAnova, true, 1});
              }),
              HasSubstr("fanova"));
}

TEST(Importance, NamesItsMethods) {
  EXPECT_EQ(ParseImportanceMethod("fanova"), ImportanceMethod::kFanova);
  EXPECT_EQ(ImportanceMethodName(ImportanceMethod::kPedAnova), "ped-anova");
  EXPECT_THAT(ErrorOf([] { ParseImportanceMethod("pedanova"); }), HasSubstr("did you mean 'ped-anova'?"));
}

}  // namespace
}  // namespace slipway::ensemble
