// What holds for every sampler that learns.
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "ensemble/model/random.h"
#include "ensemble/samplers/sampler.h"

namespace slipway::ensemble {
namespace {

constexpr const char* kMixedToLearn = R"({"opt":{"choice":["sgd","adam","rmsprop"]},"lr":{"log":[1e-5,1]},
  "layers":{"int":[1,4]},"drop":{"uniform":[0,0.7]},"units":{"int":[8,1024],"when":{"layers":[2,3,4]}},
  "mom":{"uniform":[0,0.99],"when":{"opt":"sgd"}},"shape":"fixed","size":{"ordinal":["s","m","l"]},
  "batch":{"int_log":[1,100000]},"keep":{"uniform":[0,1],"step":0.25}})";

using LearnedObjective = double (*)(const Point& point);

/// Lower is better: a rate near 0.01, other real numbers near 0.3, integers near 1.
double Bowl(const Point& point) {
  double sum = 0;
  for (const auto& [name, value] : point) {
    if (const auto* number = std::get_if<double>(&value)) {
      sum += name == "lr" ? 0.02 * std::pow(std::log10(*number) + 2, 2) : std::pow(*number - 0.3, 2);
    }
    if (const auto* number = std::get_if<std::int64_t>(&value))
      sum += 0.1 * std::abs(std::log2(std::abs(static_cast<double>(*number)) + 1) - 1);
  }
  return sum;
}

class LearningSamplers : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Sampler> Make(const SearchSpace& space, std::uint64_t seed = 3) const {
    return MakeSampler({GetParam(), seed, 3, 100, Goal::kMinimize}, space);
  }
  static TrialRecord Asked(Sampler& sampler, const TrialTable& table) {
    TrialRecord trial;
    trial.number = table.size();
    trial.parameters = sampler.Ask(table.size(), table).value();
    trial.configuration = ConfigurationHash(trial.parameters);
    trial.origin = sampler.Origin();
    return trial;
  }
  static void End(TrialRecord& trial, double value) {
    trial.state = TrialState::kComplete;
    trial.objective = value;
  }
  TrialTable Run(const SearchSpace& space, int trials, LearnedObjective objective, std::uint64_t seed = 3) const {
    const auto sampler = Make(space, seed);
    TrialTable table;
    while (table.size() < trials) {
      auto& trial = table.Add(Asked(*sampler, table));
      End(trial, objective(trial.parameters));
    }
    return table;
  }
  static void ExpectInside(const SearchSpace& space, const Point& point) {
    std::size_t members = 0;
    for (const auto& parameter : space.parameters()) {
      const auto* value = Find(point, parameter.name);
      ASSERT_EQ(value != nullptr, IsActive(parameter, point)) << parameter.name << " of " << Describe(point);
      if (value == nullptr) continue;
      ++members;
      EXPECT_TRUE(Contains(parameter.domain, *value)) << parameter.name << " of " << Describe(point);
    }
    EXPECT_EQ(members, point.size());
  }
  static double Best(const TrialTable& table) { return table.Best(Goal::kMinimize)->objective.value(); }
};

TEST_P(LearningSamplers, StayInsideOfAMixedConditionalSpace) {
  const auto space = ParseSpace(Json::parse(kMixedToLearn));
  const auto table = Run(space, 120, Bowl);
  for (const auto& trial : table.trials()) ExpectInside(space, trial.parameters);
}

TEST_P(LearningSamplers, KeepConstraints) {
  const auto space = ParseSpace(Json::parse(R"({"a":{"uniform":[0,1]},"b":{"uniform":[0,1]},"c":{"int":[1,8]},
    "":["a + b <= 0.8", "c * a < 2"]})"));
  const auto table = Run(space, 100, Bowl);
  for (const auto& trial : table.trials()) EXPECT_TRUE(space.Allows(trial.parameters)) << Describe(trial.parameters);
}

TEST_P(LearningSamplers, AreBetterThanChance) {
  const auto space = ParseSpace(Json::parse(kMixedToLearn));
  double learned = 0, random = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    learned += Best(Run(space, 150, Bowl, seed));
    const auto sampler = MakeSampler({"random", seed, 3, 100, Goal::kMinimize}, space);
    double best = 1e9;
    for (int i = 0; i < 150; ++i) best = std::min(best, Bowl(*sampler->Ask(i, {})));
    random += best;
  }
  EXPECT_LT(learned, 0.7 * random);
}

TEST_P(LearningSamplers, FollowTheGoal) {
  const auto space = ParseSpace(Json::parse(R"({"x":{"uniform":[0,1]},"y":{"uniform":[0,1]}})"));
  const auto sampler = MakeSampler({GetParam(), 3, 3, 100, Goal::kMaximize}, space);
  TrialTable table;
  while (table.size() < 100) {
    auto& trial = table.Add(Asked(*sampler, table));
    End(trial, std::get<double>(*Find(trial.parameters, "x")));
  }
  EXPECT_GT(*table.Best(Goal::kMaximize)->objective, 0.99);
}

// Trials end in another order than they began, some fail, some go on for ever; and at each ask a sampler that has lived
// through all of it and one that was just made must agree.
TEST_P(LearningSamplers, GiveTheSameAskAfterARestart) {
  const auto space = ParseSpace(Json::parse(kMixedToLearn));
  const auto lived = Make(space);
  const CounterRandom chance(5, 0, "test");
  TrialTable table;
  std::vector<TrialNumber> running;
  for (std::uint32_t i = 0; i < 100; ++i) {
    auto trial = Asked(*lived, table);
    const auto anew = Asked(*Make(space), table);
    EXPECT_EQ(trial.parameters, anew.parameters) << "trial " << i;
    EXPECT_EQ(trial.origin, anew.origin) << "trial " << i;
    running.push_back(table.Add(std::move(trial)).number);
    if (running.size() < 8) continue;
    const auto chosen = static_cast<std::ptrdiff_t>(chance.Below(7, i));  // the last one waits for ever
    auto& ended = table.Edit(running[static_cast<std::size_t>(chosen)]);
    if (i % 9 == 0) {
      ended.state = TrialState::kFailed;
    } else {
      End(ended, Bowl(ended.parameters));
    }
    running.erase(running.begin() + chosen);
  }
}

TEST_P(LearningSamplers, AskManyAtOnceWithoutRepeating) {
  const auto space = ParseSpace(Json::parse(kMixedToLearn));
  auto table = Run(space, 30, Bowl);
  const auto sampler = Make(space);
  std::set<std::string> hashes;
  for (int i = 0; i < 20; ++i) hashes.insert(table.Add(Asked(*sampler, table)).configuration);
  EXPECT_EQ(hashes.size(), 20u);
}

TEST_P(LearningSamplers, UseASmallSpaceUpAndThenGoOn) {
  const auto space = ParseSpace(Json::parse(R"({"a":{"choice":["x","y","z"]},"b":{"int":[1,4]},
    "c":{"choice":[1,2],"when":{"a":"x"}}})"));
  const auto table = Run(space, 20, Bowl);
  std::set<std::string> hashes;
  for (TrialNumber i = 0; i < 16; ++i) hashes.insert(table.at(i).configuration);
  EXPECT_EQ(hashes.size(), 16u);
}

double Same(const Point&) { return 1; }
double Huge(const Point& point) { return Bowl(point) < 0.5 ? 1e300 : -1e300; }

TEST_P(LearningSamplers, TakeDegenerateData) {
  const char* const spaces[] = {"{}",
                                R"({"a":1})",
                                R"({"x":{"uniform":[0,1]}})",
                                R"({"i":{"int":[0,1]}})",
                                R"({"i":{"int":[-9223372036854775808,9223372036854775807]}})",
                                R"({"c":{"choice":["a","b"]},"d":{"choice":["a","b"]}})",
                                R"({"c":{"choice":["a","b"]},"x":{"uniform":[0,1],"when":{"c":"a"}}})"};
  for (const char* text : spaces) {
    const auto space = ParseSpace(Json::parse(text));
    for (const auto objective : {&Same, &Huge, &Bowl}) {
      const auto table = Run(space, 60, objective);
      for (const auto& trial : table.trials()) ExpectInside(space, trial.parameters);
    }
  }
}

TEST_P(LearningSamplers, GoOnWhenEverythingFails) {
  const auto space = ParseSpace(Json::parse(kMixedToLearn));
  const auto sampler = Make(space);
  TrialTable table;
  for (int i = 0; i < 40; ++i) table.Add(Asked(*sampler, table)).state = TrialState::kFailed;
  End(table.Edit(7), 1);
  ExpectInside(space, Asked(*Make(space), table).parameters);
}

INSTANTIATE_TEST_SUITE_P(All, LearningSamplers, testing::Values("tpe", "cmaes", "genetic", "nsga2", "gp", "portfolio"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace slipway::ensemble
