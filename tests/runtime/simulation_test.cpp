// The allreduces between nodes on simulated machines: their own code, and what it costs against the formulas.

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "core/process.h"

namespace slipway::test {
namespace {

constexpr std::int64_t kBytes = 28150000 / 64 * 64;  // equal slices for 16 ranks
const std::vector<std::string> kAlgorithms{"recursive_doubling", "rabenseifner", "torus", "ring", "pairwise"};

Captured Simulate(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), SLIPWAY_BENCH_SIMULATE);
  return RunAndCapture({.argv = std::move(arguments)}, std::chrono::seconds(50));
}

/// The rows of a run on 16 ranks, by algorithm.
std::map<std::string, Json> RowsOn(const std::string& network, int ranks_per_node,
                                   const std::vector<std::string>& algorithms) {
  std::vector<std::string> arguments{"--networks",       network,
                                     "--ranks",          "16",
                                     "--sizes",          std::to_string(kBytes),
                                     "--ranks-per-node", std::to_string(ranks_per_node),
                                     "--json",           "--algorithms"};
  arguments.insert(arguments.end(), algorithms.begin(), algorithms.end());
  const auto run = Simulate(arguments);
  EXPECT_TRUE(run.status.Success()) << run.status.Describe() << run.errors;
  const auto document = Json::parse(run.output, nullptr, false);
  std::map<std::string, Json> rows;
  if (!document.is_object()) return rows;
  EXPECT_EQ(document["schema"], "slipway.bench.simulate/1");
  for (const auto& row : document["rows"]) rows[row["algorithm"]] = row;
  return rows;
}

double Milliseconds(const Json& row) { return row["simulated_ms"].get<double>(); }

struct Cost {
  std::int64_t steps;
  std::int64_t bytes;
};
/// docs/explanation/exchange.md has the formulas, here for 16 ranks.
const std::map<std::string, Cost> kCosts{{"recursive_doubling", {4, 4 * kBytes}},
                                         {"rabenseifner", {8, 2 * kBytes / 16 * 15}},
                                         {"torus", {12, 2 * kBytes / 16 * 15}},
                                         {"ring", {30, 2 * kBytes / 16 * 15}},
                                         {"pairwise", {30, 2 * kBytes / 16 * 15}}};

class Simulation : public testing::TestWithParam<const char*> {};

TEST_P(Simulation, CostsWhatTheFormulasSay) {
  const auto rows = RowsOn(GetParam(), 1, kAlgorithms);
  for (const auto& [algorithm, cost] : kCosts) {
    ASSERT_TRUE(rows.contains(algorithm)) << algorithm;
    const auto& row = rows.at(algorithm);
    EXPECT_EQ(row["steps"], cost.steps) << algorithm;
    EXPECT_EQ(row["bytes_sent"], cost.bytes) << algorithm;
    EXPECT_GE(row["messages"], cost.steps) << algorithm;
    // No faster than all its bytes over the fastest link, and all combining, one after the other.
    const double least = static_cast<double>(cost.bytes) / 12.5e6 + kBytes / 10e6 * 15 / 16;
    EXPECT_GT(Milliseconds(row), least) << algorithm;
  }
}

TEST_P(Simulation, OfAHierarchyIsThatOfItsLeadersAndTheWorkInTheirNodes) {
  const std::string hierarchical = "hierarchical_rabenseifner";
  const auto rows = RowsOn(GetParam(), 4, {hierarchical, "rabenseifner"});
  ASSERT_EQ(rows.size(), 2u);
  const auto& row = rows.at(hierarchical);
  EXPECT_EQ(row["nodes"], 4);
  EXPECT_EQ(row["steps"], 4);
  EXPECT_EQ(row["bytes_sent"], 2 * kBytes / 4 * 3);
  EXPECT_GT(Milliseconds(row), (5 + 6) * kBytes / 100e6) << "the memory of a node";
  EXPECT_LT(Milliseconds(row), Milliseconds(rows.at("rabenseifner"))) << "fewer bytes leave each node";
}

INSTANTIATE_TEST_SUITE_P(On, Simulation, testing::Values("dragonfly", "fat_tree"),
                         [](const auto& name) { return std::string(name.param); });

TEST(SimulationOfPairings, NearestFirstBeatsExchangingEverything) {
  const auto rows = RowsOn("dragonfly", 1, {"recursive_doubling", "rabenseifner"});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_LT(2 * Milliseconds(rows.at("rabenseifner")), Milliseconds(rows.at("recursive_doubling")));
}

TEST(SimulationRefuses, WhatIsNoAlgorithmOfMessagesAndMachinesThatAreTooSmall) {
  const auto shared = Simulate({"--ranks", "2", "--algorithms", "shared"});
  EXPECT_EQ(shared.status.code, 2);
  EXPECT_NE(shared.errors.find("'shared' is no algorithm of messages"), std::string::npos) << shared.errors;
  const auto large = Simulate({"--ranks", "32768"});
  EXPECT_EQ(large.status.code, 2);
  EXPECT_NE(large.errors.find("no dragonfly has 32768 nodes"), std::string::npos) << large.errors;
}

TEST(SimulationGivesUp, AfterTheLimit) {
  const auto run = Simulate({"--networks", "dragonfly", "--ranks", "1024", "--sizes", "28.15MB", "--algorithms",
                             "pairwise", "--limit", "1", "--json"});
  EXPECT_TRUE(run.status.Success()) << run.errors;
  const auto document = Json::parse(run.output, nullptr, false);
  ASSERT_TRUE(document.is_object()) << run.output;
  EXPECT_TRUE(document["rows"][0]["simulated_ms"].is_null());
}

}  // namespace
}  // namespace slipway::test
