// The parts of `slipway bench samplers`.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "bench/samplers/comparison.h"
#include "bench/samplers/optuna_peer.h"
#include "bench/samplers/side.h"
#include "bench/samplers/statistics.h"
#include "core/error.h"
#include "core/files.h"
#include "tests/support/temp_directory.h"

namespace slipway::bench {
namespace {

TEST(Statistics, FindsQuantilesBetweenValues) {
  EXPECT_DOUBLE_EQ(Quantile({4, 1, 3, 2}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(Quantile({1, 2, 3, 4, 5}, 0.25), 2);
  EXPECT_DOUBLE_EQ(Quantile({7}, 0.75), 7);
}

TEST(Statistics, TestsRanksAsSciPyDoes) {
  // scipy.stats.mannwhitneyu(x, y, alternative="less", method="asymptotic").pvalue
  EXPECT_NEAR(ProbabilityOfSmaller({1, 2, 3, 4, 5, 6, 7, 8}, {3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 10.5}), 0.0415615,
              1e-6);
  EXPECT_NEAR(ProbabilityOfSmaller({1, 1, 2, 2, 3}, {2, 2, 3, 3, 3}), 0.0730502, 1e-6);
  EXPECT_GT(ProbabilityOfSmaller({5, 6, 7}, {1, 2, 3}), 0.95);
  EXPECT_EQ(ProbabilityOfSmaller({1, 1}, {1, 1}), 1);
  EXPECT_EQ(ProbabilityOfSmaller({}, {1}), 1);
}

TEST(Marks, EndWithTheLastEvaluation) {
  EXPECT_EQ(Marks(200), (std::vector<int>{50, 100, 200}));
  EXPECT_EQ(Marks(30), (std::vector<int>{30}));
  EXPECT_EQ(Marks(120), (std::vector<int>{50, 100, 120}));
}

/// Answers with given points and writes down the order of asks and tells.
class Script : public Searcher {
 public:
  Asked Ask() override {
    said += "a" + std::to_string(asks);
    return {{{"x0", 0.1 * ++asks}, {"x1", 0.0}}, 0.001, 0.002};
  }
  void Tell(ensemble::TrialNumber trial, double) override { said += "t" + std::to_string(trial); }
  std::string said;
  int asks = 0;
};

TEST(RunSearch, KeepsAsManyTrialsOpenAsItShould) {
  Script script;
  const auto& function = FindFunction("branin");
  const auto outcome = RunSearch(script, function, {"script", function.Space(), 1, 4, 2});
  EXPECT_EQ(script.said, "a0a1t0a2t1a3t2t3");
  EXPECT_NEAR(outcome.ask_cpu_ms, 2, 1e-9);
  const ensemble::Point last = {{"x0", 0.4}, {"x1", 0.0}};
  EXPECT_LE(outcome.regret.at(4), function.Regret(last));
}

TEST(RunSearch, TellsAfterHowManyEvaluationsAGoalWasReached) {
  Script script;
  const auto& function = FindFunction("branin");
  const auto outcome = RunSearch(script, function, {"script", function.Space(), 1, 4, 2});
  for (const auto& [evaluations, regret] : outcome.improvements) {
    EXPECT_EQ(regret, function.Regret({{"x0", 0.1 * evaluations}, {"x1", 0.0}}));
    EXPECT_EQ(outcome.EvaluationsTo(regret), evaluations);
  }
  EXPECT_EQ(outcome.improvements.begin()->first, 1);
  EXPECT_EQ(outcome.improvements.rbegin()->second, outcome.regret.at(4));
  EXPECT_EQ(outcome.EvaluationsTo(0), std::nullopt);
  EXPECT_EQ(OutcomeFromJson(ToJson(outcome)).improvements, outcome.improvements);
}

TEST(Side, SaysHowManyTrialsAreOpen) {
  EXPECT_EQ(SideOf("auto", 4).parallel, 4);
  EXPECT_EQ(SideOf("auto@8", 4).parallel, 8);
  EXPECT_EQ(SideOf("auto@8", 4).sampler, "auto");
  for (const char* wrong : {"auto@", "auto@0", "auto@-1", "auto@8x", "auto@10001", "auto@99999999999"}) {
    EXPECT_THROW(SideOf(wrong, 4), Error) << wrong;
  }
}

CampaignPlan SmallPlan() {
  CampaignPlan plan;
  plan.functions = {"branin", "tree"};
  plan.samplers = {"sobol"};
  plan.seeds = 3;
  plan.evaluations = 20;
  return plan;
}

TEST(Campaign, GivesTheSameWithAnyNumberOfJobs) {
  PeerCache none({}, "");
  auto plan = SmallPlan();
  const auto alone = RunCampaign(plan, none);
  plan.jobs = 3;
  const auto together = RunCampaign(plan, none);
  for (const auto& name : plan.functions) {
    for (std::size_t seed = 0; seed < 3; ++seed) {
      EXPECT_EQ(alone.at(name).at("sobol")[seed].regret, together.at(name).at("sobol")[seed].regret);
    }
  }
  plan.samplers = {"magic"};
  EXPECT_THROW(RunCampaign(plan, none), Error);
}

TEST(Campaign, GivesEachSideItsOpenTrials) {
  PeerCache none({}, "");
  auto plan = SmallPlan();
  plan.functions = {"branin"};
  plan.samplers = {"tpe", "tpe@8", "tpe@5"};
  plan.parallel = 5;
  const auto results = RunCampaign(plan, none).at("branin");
  for (std::size_t seed = 0; seed < 3; ++seed) {
    EXPECT_EQ(results.at("tpe")[seed].improvements, results.at("tpe@5")[seed].improvements);
    EXPECT_NE(results.at("tpe")[seed].improvements, results.at("tpe@8")[seed].improvements);
  }
}

TEST(PeerCache, KeepsResultsOfOneVersionAndOnlyWhole) {
  const test::TempDirectory directory;
  const auto& function = FindFunction("branin");
  const Task task{"optuna-tpe", function.Space(), 1, 100, 1};
  Outcome outcome;
  outcome.regret = {{50, 1.5}, {100, 0.5}};
  PeerCache cache(directory / "peers.json", "3.1.0");
  cache.Keep(function, task, outcome);
  cache.Save();
  const PeerCache again(directory / "peers.json", "");
  EXPECT_EQ(again.version(), "3.1.0");
  ASSERT_TRUE(again.Find(function, task));
  EXPECT_EQ(again.Find(function, task)->regret, outcome.regret);
  auto other = task;
  other.seed = 2;
  EXPECT_FALSE(again.Find(function, other));
  other = task;
  other.evaluations = 200;
  EXPECT_FALSE(again.Find(function, other));
  EXPECT_FALSE(PeerCache(directory / "peers.json", "4.0").Find(function, task));
  WriteFile(directory / "wrong", "[]");
  EXPECT_THROW(PeerCache(directory / "wrong", ""), Error);
}

TEST(Comparison, CountsWhereASamplerIsBetter) {
  CampaignPlan plan;
  plan.functions = {"branin"};
  plan.samplers = {"sobol", "optuna-tpe", "optuna-cmaes"};
  plan.seeds = 10;
  plan.evaluations = 100;
  CampaignResults results;
  for (int seed = 0; seed < 10; ++seed) {
    const auto add = [&](const char* name, double regret) {
      Outcome outcome;
      outcome.regret = {{50, regret}, {100, regret / 10}};
      results["branin"][name].push_back(outcome);
    };
    add("sobol", 1e-6 * (seed + 1));
    add("optuna-tpe", 1 + seed);
    add("optuna-cmaes", 0.9e-6 * (seed + 1));
  }
  const auto summary = Summary(Compare(plan, results));
  ASSERT_EQ(summary.size(), 2u);
  EXPECT_EQ(summary[1]["beside_peers"], true);
  EXPECT_EQ(summary[1]["better_than_default"], 1);
  EXPECT_EQ(summary[1]["better_than_best"], 0);
  EXPECT_EQ(summary[1]["worse_than_best"], 0);
  EXPECT_EQ(summary[1]["goals"], 1);
  EXPECT_EQ(summary[1]["goals_reached"], 1);  // 5.5e-7 against 1e-6
}

TEST(Comparison, TellsWhatOpenTrialsCost) {
  CampaignPlan plan;
  plan.functions = {"branin", "hartmann3"};
  plan.samplers = {"auto", "tpe", "auto@8"};
  plan.seeds = 3;
  CampaignResults results;
  const auto add = [&](const char* function, const char* side, int to_first, int to_second) {
    Outcome outcome;
    outcome.regret = {{50, 1}, {100, 1}, {200, 1}};
    outcome.improvements = {{1, 1}, {to_first, 4e-6}, {to_second, 1e-8}};
    results[function][side].push_back(outcome);
  };
  for (const int seed : {0, 1, 2}) {
    add("branin", "auto", 20, 40 + seed);
    add("branin", "auto@8", 30, 82 + seed);
    add("branin", "tpe", 100, 200);
    add("hartmann3", "auto", 10, 50);
    add("hartmann3", "auto@8", 15, 60);
    add("hartmann3", "tpe", 100, 200);
  }
  results["hartmann3"]["auto@8"][0].improvements = {{1, 1}};
  const auto comparison = Compare(plan, results);
  EXPECT_EQ(comparison[0]["samplers"][0]["marks"][1]["evaluations_to_goal"], 41);  // 1e-8 serves the goals 1e-6, 1e-7
  auto costs = CostOfOpenTrials(comparison);
  ASSERT_EQ(costs.size(), 1u);
  EXPECT_EQ(costs[0]["sampler"], "auto@8");
  EXPECT_EQ(costs[0]["beside"], "auto");
  const auto& to_goals = costs[0]["to_goals"];
  EXPECT_EQ(to_goals["count"], 4);
  EXPECT_EQ(to_goals["missed"], 0);
  EXPECT_DOUBLE_EQ(to_goals["least"].get<double>(), 1.2);
  EXPECT_DOUBLE_EQ(to_goals["most"].get<double>(), 83.0 / 41);
  results["hartmann3"]["auto@8"][1].improvements = {{1, 1}};  // two of three never come to it
  costs = CostOfOpenTrials(Compare(plan, results));
  EXPECT_EQ(costs[0]["to_goals"]["count"], 2);
  EXPECT_EQ(costs[0]["to_goals"]["missed"], 2);
}

TEST(Comparison, TellsWhenASideWithOpenTrialsIsAsGoodAsTheOneWithout) {
  CampaignPlan plan;
  plan.functions = {"griewank6"};  // without a goal
  plan.samplers = {"auto", "auto@8"};
  plan.seeds = 3;
  CampaignResults results;
  for (const int seed : {0, 1, 2}) {
    Outcome alone, open;
    alone.regret = {{50, 1}, {100, 1e-9}, {200, 1e-12}};
    alone.improvements = {{1, 9}, {40 + seed, 1}, {90, 2e-8}, {95, 1e-9}, {180, 1e-12}};
    open.regret = {{50, 9}, {100, 0.5}, {200, 1e-8}};
    open.improvements = {{1, 9}, {60 + seed, 0.5}, {180, 1e-8}};
    results["griewank6"]["auto"].push_back(alone);
    results["griewank6"]["auto@8"].push_back(open);
  }
  const auto costs = CostOfOpenTrials(Compare(plan, results));
  ASSERT_EQ(costs.size(), 1u);
  const auto& as_good = costs[0]["to_be_as_good"];
  EXPECT_EQ(as_good["count"], 2);  // at 50 and 100 of 200
  EXPECT_EQ(as_good["missed"], 0);
  EXPECT_DOUBLE_EQ(as_good["least"].get<double>(), 61.0 / 41);
  EXPECT_DOUBLE_EQ(as_good["most"].get<double>(), 2);  // below 1e-7 a minimum is found
}

TEST(Comparison, KnowsWhenHalfOfAnEvenNumberOfSearchesIsInEachOfTwoMinima) {
  CampaignPlan plan;
  plan.functions = {"styblinski5"};
  plan.samplers = {"auto", "auto@8"};
  plan.evaluations = 100;
  CampaignResults results;
  for (const double end : {0.0, 0.0, 14.0, 14.0}) {
    Outcome outcome;
    outcome.regret = {{50, end}, {100, end}};
    outcome.improvements = {{1, 90}, {20, 14}};
    if (end == 0) outcome.improvements[25] = 0;
    results["styblinski5"]["auto"].push_back(outcome);
    results["styblinski5"]["auto@8"].push_back(outcome);
  }
  const auto as_good = CostOfOpenTrials(Compare(plan, results))[0]["to_be_as_good"];
  EXPECT_EQ(as_good["count"], 1);
  EXPECT_EQ(as_good["missed"], 0);
  for (auto& outcome : results["styblinski5"]["auto@8"]) outcome.improvements = {{1, 90}};
  EXPECT_EQ(CostOfOpenTrials(Compare(plan, results))[0]["to_be_as_good"]["missed"], 1);
}

TEST(Comparison, PairsOnlyGoalsOfWhichBothSidesTell) {
  CampaignPlan plan;
  plan.functions = {"branin", "hartmann3"};
  plan.samplers = {"auto", "auto@8"};
  plan.evaluations = 100;
  CampaignResults results;
  for (const char* function : {"branin", "hartmann3"}) {
    for (const char* side : {"auto", "auto@8"}) {
      Outcome outcome;
      outcome.regret = {{50, 1}, {100, 1e-8}};
      outcome.improvements = {{1, 1}, {60, 1e-8}};
      results[function][side].push_back(outcome);
    }
  }
  results["branin"]["auto"][0].improvements.clear();  // as in old files
  const auto to_goals = CostOfOpenTrials(Compare(plan, results))[0]["to_goals"];
  EXPECT_EQ(to_goals["count"], 1);
  EXPECT_EQ(to_goals["missed"], 0);
}

TEST(OptunaPeer, SearchesEveryKindOfSpace) {
  auto peer = OptunaPeer::Start();
  if (!peer) GTEST_SKIP() << "python3-optuna is not installed";
  for (const char* name : {"branin", "tree", "integers6"}) {
    const auto& function = FindFunction(name);
    const auto space = function.Space();
    for (const auto& sampler : PeerNames()) {
      const Task task{sampler, space, 1, 15, 2};
      const auto outcome = RunSearch(*peer->Search(task), function, task);
      EXPECT_GE(outcome.regret.at(15), 0) << sampler << " on " << name;
      EXPECT_EQ(RunSearch(*peer->Search(task), function, task).regret, outcome.regret) << sampler << " on " << name;
    }
  }
}

}  // namespace
}  // namespace slipway::bench
