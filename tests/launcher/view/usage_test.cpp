// What runs have used, summed by user, name and engine.

#include "launcher/view/usage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

namespace slipway::launcher {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

UsedRun Used(const std::string& user, const std::string& name, double hours, std::optional<double> gpu_energy = {}) {
  return {user, name, "local",
          Accounting{hours * 3600,
                     0,
                     {{"compute", hours * 2700}, {"lost", hours * 900}},
                     hours,
                     hours * 8,
                     0,
                     {{}, gpu_energy},
                     ""}};
}

TEST(Usage, SumsByTheKeysAskedFor) {
  const std::array runs = {Used("ann", "a", 1), Used("bob", "a", 5, 100.0), Used("ann", "b", 2, 50.0)};
  const auto usage = SumUsage(runs, {UsageKey::kUser});
  ASSERT_EQ(usage.rows.size(), 2u);
  EXPECT_THAT(usage.rows[0].keys, ElementsAre("bob"));
  EXPECT_THAT(usage.rows[1].keys, ElementsAre("ann"));
  EXPECT_EQ(usage.rows[1].runs, 2);
  EXPECT_DOUBLE_EQ(usage.rows[1].node_hours, 3);
  EXPECT_DOUBLE_EQ(*usage.rows[1].energy.gpu_j, 50);
  EXPECT_FALSE(usage.rows[1].energy.cpu_j);
  EXPECT_DOUBLE_EQ(usage.total.node_hours, 8);
  EXPECT_DOUBLE_EQ(usage.total.parts_hours.at("lost"), 2);
}

TEST(Usage, OfAWorkflowIsTheSumOfItsSteps) {
  NodeShare share;
  share.cores = 4;
  share.gpus = 2;
  const std::array steps = {AccountForProgram(1800, share, false), AccountForProgram(360, share, true),
                            Used("ann", "a", 1, 100.0).accounting};
  const auto sum = SumOf(steps);
  EXPECT_DOUBLE_EQ(sum.node_hours, 1.6);
  EXPECT_DOUBLE_EQ(sum.core_hours, 2.4 + 8);
  EXPECT_DOUBLE_EQ(sum.gpu_hours, 1.2);
  EXPECT_DOUBLE_EQ(*sum.energy.gpu_j, 100);
  std::map<std::string, double> parts;
  for (const auto& [part, seconds] : sum.parts) parts[part] += seconds;
  EXPECT_EQ(parts, (std::map<std::string, double>{{"compute", 1800 + 2700}, {"lost", 360 + 900}}));
  EXPECT_TRUE(SumOf(std::span<const Accounting>()).parts.empty());
}

TEST(Usage, OfNoRunsIsZero) {
  const auto usage = SumUsage({}, {UsageKey::kName});
  EXPECT_TRUE(usage.rows.empty());
  const auto document = ToJson(usage, {});
  EXPECT_EQ(document["schema"], "slipway.usage/1");
  EXPECT_EQ(document["total"]["lost_share"], 0.0);
  EXPECT_TRUE(document["total"]["energy_j"].is_null());
  EXPECT_TRUE(document["total"]["gpu_energy_j"].is_null());
}

TEST(Usage, ReadsAsATableWithItsTotal) {
  const std::array runs = {Used("ann", "a", 1, 7.2e6), Used("bob", "a", 5)};
  const auto text = Describe(SumUsage(runs, {UsageKey::kUser, UsageKey::kName}));
  EXPECT_THAT(text, HasSubstr("user  name  runs  node-hours"));
  EXPECT_THAT(text, HasSubstr("CPU kWh  GPU kWh"));
  EXPECT_THAT(text, HasSubstr("-    2.000"));
  EXPECT_THAT(text, HasSubstr("25.0"));
  EXPECT_THAT(text, HasSubstr("all"));
}

TEST(Usage, HasRowsAndPartsThatSumToTheTotal) {
  EXPECT_TRUE(rc::check([] {
    std::vector<UsedRun> runs;
    for (int i = *rc::gen::inRange(0, 20); i > 0; --i) {
      runs.push_back(Used(*rc::gen::element<std::string>("ann", "bob"), *rc::gen::element<std::string>("a", "b", "c"),
                          *rc::gen::inRange(0, 100) / 10.0));
    }
    const auto usage = SumUsage(runs, {UsageKey::kUser, UsageKey::kName});
    double hours = 0;
    int count = 0;
    for (const auto& row : usage.rows) {
      hours += row.node_hours;
      count += row.runs;
    }
    double parts = 0;
    for (const auto& [part, of_part] : usage.total.parts_hours) parts += of_part;
    RC_ASSERT(count == static_cast<int>(runs.size()));
    RC_ASSERT(std::abs(hours - usage.total.node_hours) < 1e-9);
    RC_ASSERT(std::abs(parts - usage.total.node_hours) < 1e-9);
  }));
}

}  // namespace
}  // namespace slipway::launcher
