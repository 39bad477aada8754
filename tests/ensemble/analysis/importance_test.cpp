#include "ensemble/analysis/importance.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/error.h"
#include "ensemble/samplers/sampler.h"
#include "tests/ensemble/analysis/analysis_support.h"

namespace slipway::ensemble {
namespace {

using testing::HasSubstr;

constexpr auto kFourAxes =
    R"({"a":{"uniform":[0,1]},"b":{"uniform":[0,1]},"c":{"uniform":[0,1]},"d":{"uniform":[0,1]}})";

Share ShareOf(const Importances& importances, const std::string& name) {
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

/// What a search leaves: most trials near its best point.
Observations SearchedTrials(const Encoding& encoding, const std::string& sampler, int count,
                            const std::function<double(const Coordinates&)>& objective, std::uint64_t seed) {
  SamplerSettings settings;
  settings.name = sampler;
  settings.seed = seed;
  settings.trials = count;
  settings.goal = Goal::kMinimize;
  const auto search = MakeSampler(settings, encoding.space());
  TrialTable table;
  for (int trial = 0; trial < count; ++trial) {
    TrialRecord record;
    record.number = trial;
    record.parameters = search->Ask(trial, table).value();
    record.origin = search->Origin();
    record.configuration = ConfigurationHash(record.parameters);
    record.state = TrialState::kComplete;
    record.objective = objective(encoding.Encode(record.parameters));
    table.Add(std::move(record));
  }
  ObservationLog log(encoding, Goal::kMinimize);
  return log.Update(count, table);
}

/// An objective whose variance can be taken apart by hand.
struct KnownCase {
  std::string name;
  std::string space;
  double (*loss)(const Coordinates& at);
  std::map<std::string, double> shares;
};

const std::vector<KnownCase>& KnownCases() {
  static const std::vector<KnownCase> cases = {
      {"uniform",
       R"({"x":{"uniform":[0,1]},"b":{"choice":["a","b","c"]}})",
       [](const Coordinates& at) { return at[0]; },
       {{"x", 1}, {"b", 0}}},
      {"log",
       R"({"lr":{"log":[1e-5,1]},"w":{"int_log":[8,1024]},"c":{"choice":["a","b"]}})",
       [](const Coordinates& at) { return std::pow(at[0] - 0.4, 2); },
       {{"lr", 1}, {"w", 0}, {"c", 0}}},
      // Variances (8^2 - 1) / 12 and (3 / 2)^2.
      {"int",
       R"({"n":{"int":[1,8]},"c":{"choice":["a","b"]},"u":{"uniform":[0,1]}})",
       [](const Coordinates& at) { return 8 * at[0] + 3 * at[1]; },
       {{"n", 0.7}, {"c", 0.3}, {"u", 0}}},
      {"additive",
       R"({"a":{"uniform":[0,1]},"b":{"uniform":[0,1]},"c":{"uniform":[0,1]},"d":{"uniform":[0,1]}})",
       [](const Coordinates& at) { return 2 * at[0] + at[1]; },
       {{"a", 0.8}, {"b", 0.2}, {"c", 0}, {"d", 0}}},
      {"parent",
       R"({"opt":{"choice":["adam","sgd"]},"momentum":{"uniform":[0,1],"when":{"opt":"sgd"}},"u":{"uniform":[0,1]}})",
       [](const Coordinates& at) { return at[0]; },
       {{"opt", 1}, {"momentum", 0}, {"u", 0}}},
      // f = s (1 + m): variances 9/16 of s, 1/48 of m, 1/48 of both together.
      {"conditional",
       R"({"opt":{"choice":["adam","sgd"]},"momentum":{"uniform":[0,1],"when":{"opt":"sgd"}},"u":{"uniform":[0,1]}})",
       [](const Coordinates& at) { return at[0] == 0 ? 0 : 1 + at[1]; },
       {{"opt", 27.0 / 29}, {"momentum", 1.0 / 29}, {"u", 0}}}};
  return cases;
}

struct SearchOf {
  std::string sampler;
  int trials = 0;
};

class KnownImportance : public testing::TestWithParam<SearchOf> {};

TEST_P(KnownImportance, IsFoundWhereverTheSamplerLooked) {
  const auto& [sampler, trials] = GetParam();
  for (const auto& known : KnownCases()) {
    const auto encoding = EncodingOf(known.space);
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      const auto found = ImportancesOf(encoding, SearchedTrials(encoding, sampler, trials, known.loss, seed));
      const auto where = fmt::format("{} seed {}, predicted {:.3f}", known.name, seed, found.predicted);
      for (const auto& [name, share] : known.shares) {
        const auto guess = ShareOf(found, name);
        const auto text = fmt::format("{}: {} {:.3f} ({:.2f} to {:.2f}), truly {:.3f}", where, name, guess.mean,
                                      guess.low, guess.high, share);
        EXPECT_LE(guess.low, share + 0.03) << text;
        EXPECT_GE(guess.high, share - 0.03) << text;
        if (guess.high - guess.low < 0.3) {
          EXPECT_NEAR(guess.mean, share, 0.15) << text;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Importance, KnownImportance,
                         testing::Values(SearchOf{"random", 50}, SearchOf{"random", 200}, SearchOf{"random", 500},
                                         SearchOf{"sobol", 100}, SearchOf{"tpe", 50}, SearchOf{"tpe", 200},
                                         SearchOf{"tpe", 500}, SearchOf{"cmaes", 100}, SearchOf{"cmaes", 500},
                                         SearchOf{"genetic", 200}, SearchOf{"auto", 60}, SearchOf{"auto", 120}),
                         [](const auto& search) { return search.param.sampler + std::to_string(search.param.trials); });

TEST(Importance, IsKnownWellFromTrialsThatFillTheSpace) {
  for (const auto& known : KnownCases()) {
    const auto encoding = EncodingOf(known.space);
    const auto found = ImportancesOf(encoding, SearchedTrials(encoding, "random", 200, known.loss, 1));
    for (const auto& [name, share] : known.shares) {
      const auto guess = ShareOf(found, name);
      EXPECT_NEAR(guess.mean, share, 0.1) << known.name << ": " << name;
      EXPECT_LT(guess.high - guess.low, 0.4) << known.name << ": " << name;
    }
  }
}

TEST(Importance, OfASearchIsNotThatOfItsLastTrials) {
  const auto encoding = EncodingOf(KnownCases().front().space);
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const auto found = ImportancesOf(encoding, SearchedTrials(encoding, "auto", 60, KnownCases().front().loss, seed));
    EXPECT_EQ(found.parameters.front().parameter, "x") << seed;
    EXPECT_GT(ShareOf(found, "x").low, 0.5) << seed;
    EXPECT_LT(ShareOf(found, "b").high, 0.5) << seed;
  }
}

/// There is one configuration of adam, and no sampler tries it again: half of the space is two trials.
TEST(Importance, OfABranchThatHardlyAnyTrialTookIsUnknown) {
  const auto encoding =
      EncodingOf(R"({"opt":{"choice":["adam","sgd"]},"momentum":{"uniform":[0,1],"when":{"opt":"sgd"}}})");
  for (const auto* sampler : {"random", "tpe"}) {
    const auto loss = [](const Coordinates& at) { return at[0] == 0 ? 0 : 1 + at[1]; };
    const auto found = ImportancesOf(encoding, SearchedTrials(encoding, sampler, 200, loss, 1));
    EXPECT_LT(found.predicted, kPredictedEnough) << sampler;
    EXPECT_GT(ShareOf(found, "opt").high - ShareOf(found, "opt").low, 0.5) << sampler;
  }
}

TEST(Importance, OfNoiseIsUnknown) {
  const auto encoding = EncodingOf(kFourAxes);
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    auto known = RandomTrials(
        encoding, 100, [](const auto&) { return 0.0; }, seed);
    for (auto& trial : known.complete) trial.value = CounterRandom(seed, trial.trial, "noise").Unit(0);
    const auto found = ImportancesOf(encoding, known);
    EXPECT_LT(found.predicted, 0.1) << seed;
    for (const auto& [name, share] : found.parameters) {
      EXPECT_LT(share.low, 0.05) << name;
      EXPECT_GT(share.high, 0.9) << name;
    }
  }
}

TEST(Importance, IsNotThatOfOneHugeValue) {
  const auto encoding = EncodingOf(kFourAxes);
  auto known = RandomTrials(encoding, 100, [](const auto& at) { return at[0]; });
  known.complete[17].value = 1e12;
  const auto found = ImportancesOf(encoding, known);
  EXPECT_EQ(found.parameters.front().parameter, "a");
  EXPECT_GT(ShareOf(found, "a").low, 0.3);
}

TEST(Importance, KnowsARegionThatIsFarWorse) {
  const auto encoding = EncodingOf(R"({"c":{"choice":["a","b","c","d","e"]},"u":{"uniform":[0,1]}})");
  const auto known = RandomTrials(encoding, 100, [](const auto& at) { return (at[0] == 3 ? 100 : 0) + 0.1 * at[1]; });
  EXPECT_GT(ShareOf(ImportancesOf(encoding, known), "c").low, 0.9);
}

TEST(Fanova, TakesTheVarianceOfAnAdditiveFunctionApart) {
  const auto encoding = EncodingOf(kFourAxes);
  const auto known = RandomTrials(encoding, 1000, [](const auto& at) { return 2 * at[0] + at[1]; });
  const auto importances = ImportancesOf(encoding, known, {true, 1});
  EXPECT_NEAR(ShareOf(importances, "a").mean, 0.8, 0.03);
  EXPECT_NEAR(ShareOf(importances, "b").mean, 0.2, 0.03);
  EXPECT_LT(ShareOf(importances, "c").mean, 0.01);
  for (const auto& pair : importances.pairs) EXPECT_LT(pair.share.mean, 0.02) << pair.first << pair.second;
}

TEST(Fanova, FindsWhatOnlyTwoParametersTogetherExplain) {
  const auto encoding = EncodingOf(kFourAxes);
  const auto known = RandomTrials(encoding, 1000, [](const auto& at) { return (at[1] - 0.5) * (at[3] - 0.5); });
  const auto importances = ImportancesOf(encoding, known, {true, 1});
  EXPECT_EQ(importances.pairs.front().first, "b");
  EXPECT_EQ(importances.pairs.front().second, "d");
  EXPECT_GT(importances.pairs.front().share.mean, 0.8);
  for (const auto& parameter : importances.parameters) EXPECT_LT(parameter.share.mean, 0.06) << parameter.parameter;
}

TEST(Fanova, IsExactWhereTheForestIs) {
  const auto encoding = EncodingOf(R"({"x":{"choice":["a","b","c"]},"y":{"uniform":[0,1]}})");
  const auto known = RandomTrials(encoding, 90, [](const auto& at) { return at[0] == 1 ? 5.0 : -1.0; });
  const auto importances = ImportancesOf(encoding, known, {false, 1});
  EXPECT_NEAR(ShareOf(importances, "x").mean, 1, 1e-12);
  EXPECT_NEAR(ShareOf(importances, "y").mean, 0, 1e-12);
}

TEST(Fanova, GivesNothingWhenNothingVaries) {
  const auto encoding = EncodingOf(kFourAxes);
  const auto known = RandomTrials(encoding, 20, [](const auto&) { return 3.0; });
  for (const auto& parameter : ImportancesOf(encoding, known, {false, 1}).parameters) {
    EXPECT_EQ(parameter.share.mean, 0);
    EXPECT_EQ(parameter.share.high, 0);
  }
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
  EXPECT_EQ(ImportancesOf(encoding, known).parameters.size(), 4u);
}

}  // namespace
}  // namespace slipway::ensemble
