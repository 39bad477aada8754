// Ensembles whose scheduler decides which trials go on, and what they tell about parameters.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/end_to_end/workplace.h"

namespace slipway::test {
namespace {

using testing::HasSubstr;

/// A program in a shell that knows its limit: it appends one epoch after the other, and says with 75 that it would go
/// on.
TEST(Ensemble, ProgramsThatEndAtTheirLimitGoOnWhenTheyMay) {
  Workplace place;
  place.WriteSpec(
      "exp.yaml",
      "[sh, -c, 'log=$SLIPWAY_RUN_DIR/epochs; limit=$SLIPWAY_RESOURCE_LIMIT; test -n \"$limit\" || limit=4; "
      "until test $(cat $log 2>/dev/null | wc -l) -ge $limit; do echo >> $log; echo EPOCH $(cat $log | wc -l) FoM: $1; "
      "done; "
      "test -z \"$SLIPWAY_RESOURCE_LIMIT\" || exit 75', trial, '{x}']",
      1,
      "  metrics: {from: stdout, pattern: 'EPOCH (?<epoch>\\d+) FoM: (?<objective>\\S+)'}\n"
      "ensemble:\n"
      "  objective: {metric: objective, goal: maximize}\n"
      "  sampler: grid\n"
      "  scheduler: {type: asha, min: 1, max: 4, reduction: 2}\n"
      "  space: {x: {int: [0, 7]}}\n");
  const auto ran = place.Slipway({"run", "exp.yaml", "--json"});
  ASSERT_EQ(ran.status.code, 0) << ran.errors;
  const auto counts = Json::parse(place.Slipway({"trials", "ls", "--json"}).output)["counts"];
  EXPECT_FALSE(counts.contains("failed"));
  EXPECT_GE(counts["complete"], 1);
  EXPECT_GE(counts["paused"], 3);
  EXPECT_THAT(ran.errors, testing::Not(HasSubstr("paused: ")));
}

/// Each trial runs until it is pruned, or for a minute.
TEST(Ensemble, OfPrunedTrialsOnlySaysHowItGoesOn) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'echo EPOCH 1 loss: 5; exec sleep 60']", 1,
                  "  metrics: {from: stdout, pattern: 'EPOCH (?<epoch>\\d+) loss: (?<loss>\\S+)'}\n"
                  "ensemble:\n"
                  "  objective: {metric: loss, goal: minimize}\n"
                  "  sampler: random\n"
                  "  trials: 2\n"
                  "  scheduler: {type: threshold, upper: 1}\n"
                  "  space: {x: {uniform: [0, 1]}}\n");
  EXPECT_EQ(place.Slipway({"run", "exp.yaml"}).status.code, 1);
  const auto status = place.Status();
  EXPECT_EQ(status["reason"], "none of 2 trials is complete: 2 pruned");
  EXPECT_EQ(status["cause"],
            Json::parse(R"({"kind": "no_trial_completed", "failed": 0, "cancelled": 0, "pruned": 2, "paused": 0})"));
  const auto explained = place.Slipway({"explain"}).output;
  EXPECT_THAT(explained, HasSubstr("run them again: slipway trials retry --outcome pruned "));
  EXPECT_THAT(explained, testing::Not(HasSubstr("trials that are left")));
  EXPECT_EQ(place.Slipway({"trials", "retry", "--outcome", "pruned", "last"}).status.code, 0);
}

/// Ten trials are too few for four rungs: nobody comes to the end by comparisons, and the leaders do all the same.
TEST(Ensemble, LeadersOfHyperbandAreComplete) {
  Workplace place;
  place.WriteSpec(
      "exp.yaml",
      "[sh, -c, 'log=$SLIPWAY_RUN_DIR/epochs; limit=${SLIPWAY_RESOURCE_LIMIT:-27}; "
      "until test $(cat $log 2>/dev/null | wc -l) -ge $limit; do echo >> $log; echo EPOCH $(cat $log | wc -l) FoM: $1; "
      "done; test -z \"$SLIPWAY_RESOURCE_LIMIT\" || exit 75', trial, '{x}']",
      1,
      "  metrics: {from: stdout, pattern: 'EPOCH (?<epoch>\\d+) FoM: (?<objective>\\S+)'}\n"
      "ensemble:\n"
      "  objective: {metric: objective, goal: maximize}\n"
      "  sampler: random\n"
      "  trials: 10\n"
      "  scheduler: {type: hyperband, min: 1, max: 27}\n"
      "  space: {x: {uniform: [0, 1]}}\n");
  EXPECT_THAT(place.Slipway({"plan", "exp.yaml"}).errors,
              HasSubstr("of 10 only the leader of each rung goes on; 49 trials would do"));
  const auto ran = place.Slipway({"run", "exp.yaml"});
  ASSERT_EQ(ran.status.code, 0) << ran.errors;
  const auto list = Json::parse(place.Slipway({"trials", "ls", "--json"}).output);
  EXPECT_GE(list["counts"]["complete"], 2) << "one in each of the two brackets; more when a better one came late";
  double best = 0;
  for (const auto& trial : list["trials"]) best = std::max(best, trial["parameters"]["x"].get<double>());
  const auto first = Json::parse(place.Slipway({"trials", "best", "--json"}).output)["trials"][0];
  EXPECT_EQ(first["parameters"]["x"], best) << "the order never changes: the best of all leads its bracket";
}

/// A search leaves nearly all trials near its best point; what it varied before still tells.
TEST(Ensemble, ImportanceAfterASearchIsThatOfTheObjective) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'echo FoM: $1', trial, '{x}']", 1,
                  "  metrics: {from: stdout, pattern: 'FoM: (?<loss>\\S+)'}\n"
                  "ensemble:\n"
                  "  objective: {metric: loss, goal: minimize}\n"
                  "  trials: 40\n"
                  "  space: {x: {uniform: [0, 1]}, b: {choice: [p, q, r]}}\n");
  ASSERT_EQ(place.Slipway({"run", "exp.yaml"}).status.code, 0);
  const auto importance = Json::parse(place.Slipway({"trials", "importance", "--json"}).output);
  EXPECT_EQ(importance["parameters"][0]["parameter"], "x");
  EXPECT_GT(importance["parameters"][0]["low"], 0.6);
  EXPECT_LT(importance["parameters"][1]["high"], 0.4);
  EXPECT_THAT(place.Slipway({"trials", "importance"}).output, HasSubstr("importance for loss, from 40 trials"));
}

TEST(Ensemble, SaysWhyAPopulationLeavesTrialsUnbegunAndAResourceUnheard) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'echo EPOCH 1 FoM: $1', trial, '{x}']", 1,
                  "  metrics: {from: stdout, pattern: 'EPOCH (?<epoch>\\d+) FoM: (?<objective>\\S+)'}\n"
                  "ensemble:\n"
                  "  objective: {metric: objective, goal: maximize}\n"
                  "  trials: 9\n"
                  "  parallel: 2\n"
                  "  scheduler: {type: pbt, interval: 1, resource: epochs}\n"
                  "  space: {x: {uniform: [0, 7]}}\n");
  const auto ran = place.Slipway({"run", "exp.yaml"});
  ASSERT_EQ(ran.status.code, 0) << ran.errors;
  EXPECT_THAT(ran.output + ran.errors, HasSubstr("7 of the budget never began: pbt trains 2 together"));
  EXPECT_THAT(ran.errors, HasSubstr("never reported 'epochs' with 'objective'"));
  EXPECT_THAT(ran.errors, HasSubstr("it reported: objective, epoch"));
}

/// Both train until the worse one has been replaced.
TEST(Ensemble, ACopyWithoutWeightsIsWarnedOf) {
  Workplace place;
  place.WriteSpec(
      "exp.yaml",
      "[sh, -c, 'n=0; until test -e runs/*/trials/00002; do n=$((n + 1)); echo EPOCH $n FoM: $1; sleep 0.1; done; "
      "echo EPOCH $((n + 1)) FoM: $1', trial, '{x}']",
      1,
      "  metrics: {from: stdout, pattern: 'EPOCH (?<epoch>\\d+) FoM: (?<objective>\\S+)'}\n"
      "ensemble:\n"
      "  objective: {metric: objective, goal: maximize}\n"
      "  trials: 3\n"
      "  parallel: 2\n"
      "  scheduler: {type: pbt, interval: 1}\n"
      "  space: {x: {uniform: [0, 7]}}\n");
  const auto ran = place.Slipway({"run", "exp.yaml"});
  ASSERT_EQ(ran.status.code, 0) << ran.errors;
  EXPECT_THAT(ran.errors, HasSubstr("trial 2 begins without the weights of trial "));
  EXPECT_THAT(place.Slipway({"trials", "show", "2"}).output, HasSubstr("a varied copy of trial "));
}

}  // namespace
}  // namespace slipway::test
