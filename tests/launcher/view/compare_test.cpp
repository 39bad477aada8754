// Runs side by side: what differs, and whether their bits should be the same.

#include "launcher/view/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace slipway::launcher {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Json PlanOf(double lr, const std::string& hash = "aa") {
  return Json{
      {"spec",
       {{"name", "fashion"}, {"launch", {{"nodes", 1}, {"time_limit", 60.0}}}, {"train", {{"args", {{"lr", lr}}}}}}},
      {"exchange", {{"bits", {{"ranks", 2}, {"algorithms", hash}, {"hash", hash}}}}}};
}

ComparedRun Trained(const std::string& id) {
  ComparedRun run;
  run.view.run = id;
  run.view.ranks = 2;
  run.plan = PlanOf(0.1);
  Provenance provenance;
  provenance.code.commit = "c1";
  provenance.hosts = {{"n1", "EPYC", 64, 1, {}}};
  run.view.provenance = ToJson(provenance);
  run.values = {{0, {{"loss", 2.5}, {"images_per_second", 100}}}, {10, {{"loss", 1.5}, {"images_per_second", 110}}}};
  CurveView curve;
  curve.metric = "loss";
  curve.step = {0, 10};
  curve.value = {2.5, 1.5};
  curve.lowest = 1.5;
  curve.highest = 2.5;
  run.view.curves = {curve};
  return run;
}

Comparison OfTwo(const ComparedRun& first, const ComparedRun& other) {
  const std::array runs = {first, other};
  return Compare(runs);
}

TEST(Compare, OfEqualRunsExpectsTheSameBitsAndFindsThem) {
  auto other = Trained("b");
  other.values[0]["images_per_second"] = 7;  // speed is no result
  other.plan["spec"]["launch"]["time_limit"] = 90.0;
  const auto comparison = OfTwo(Trained("a"), other);
  ASSERT_EQ(comparison.bits.size(), 1u);
  const auto& bits = comparison.bits[0];
  EXPECT_TRUE(bits.expected) << testing::PrintToString(bits.reasons);
  EXPECT_EQ(bits.compared, 2u);
  EXPECT_FALSE(bits.parting);
  EXPECT_THAT(bits.left_out, ElementsAre("images_per_second"));
  ASSERT_EQ(comparison.spec.size(), 1u);
  EXPECT_EQ(comparison.spec[0].key, "launch.time_limit");
  EXPECT_THAT(comparison.provenance, IsEmpty());
}

TEST(Compare, NamesTheFirstStepAndMetricWhereBitsPart) {
  auto other = Trained("b");
  other.values[10]["loss"] = std::nextafter(1.5, 2);
  other.values[20]["loss"] = 0;
  const auto comparison = OfTwo(Trained("a"), other);
  const auto& bits = comparison.bits[0];
  ASSERT_TRUE(bits.parting);
  EXPECT_EQ(bits.parting->step, 10);
  EXPECT_EQ(bits.parting->metric, "loss");
  EXPECT_THAT(Describe(comparison), HasSubstr("they part at step 10: loss 1.5 and 1.5000000000000002"));
}

TEST(Compare, SaysSameDifferentOrUnknownInOneWord) {
  const auto first = Trained("a");
  const auto word_of = [&](const ComparedRun& other) { return WordOf(OutcomeOf(OfTwo(first, other))); };
  auto other = Trained("b");
  other.values[0]["images_per_second"] = 7;
  EXPECT_EQ(word_of(other), "same");
  other.values[10]["loss"] = std::nextafter(1.5, 2);
  EXPECT_EQ(word_of(other), "different");
  other.plan["spec"]["launch"]["nodes"] = 2;  // then the bits need not be the same
  EXPECT_EQ(word_of(other), "different");
  other = Trained("b");
  other.view.curves.front().value.back() = 1.25;
  EXPECT_EQ(word_of(other), "different");
  other.view.curves.clear();
  EXPECT_EQ(word_of(other), "different");
  other = Trained("b");
  other.plan = PlanOf(0.2);
  EXPECT_EQ(word_of(other), "different");
}

TEST(Compare, CallsRunsWithoutCommonMetricsUnknown) {
  auto silent = Trained("a");
  silent.values = {{0, {{"images_per_second", 100}}}};
  silent.view.curves.front().metric = "images_per_second";
  auto other = silent;
  EXPECT_EQ(OutcomeOf(OfTwo(silent, other)), ComparisonOutcome::kUnknown);
  other.sums = SumsOfPair{};  // with no step in common
  EXPECT_EQ(OutcomeOf(OfTwo(silent, other)), ComparisonOutcome::kUnknown);
  other.sums->steps = 3;
  EXPECT_EQ(OutcomeOf(OfTwo(silent, other)), ComparisonOutcome::kSame);
  other.sums->parting.emplace();
  EXPECT_EQ(OutcomeOf(OfTwo(silent, other)), ComparisonOutcome::kDifferent);
}

TEST(Compare, TakesNotANumberForTheSameAsItself) {
  auto first = Trained("a");
  first.values[10]["loss"] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(OfTwo(first, first).bits[0].parting);
  EXPECT_TRUE(OfTwo(first, Trained("b")).bits[0].parting);
}

TEST(Compare, SaysWhyBitsNeedNotBeTheSame) {
  auto other = Trained("b");
  other.plan = PlanOf(0.2, "bb");
  Provenance provenance;
  provenance.code.commit = "c2";
  provenance.hosts = {{"n2", "Xeon", 64, 1, {}}};
  other.view.provenance = ToJson(provenance);
  const auto bits = OfTwo(Trained("a"), other).bits[0];
  EXPECT_FALSE(bits.expected);
  EXPECT_THAT(bits.reasons, ElementsAre("exchange: algorithms \"aa\" and \"bb\"", "train.args.lr differs",
                                        "the code differs, or is not recorded", "cpu differs"));
}

TEST(Compare, ExpectsNothingOfEnsemblesBrokenPlansAndRandomOrders) {
  auto ensemble = Trained("b");
  ensemble.view.ensemble = true;
  EXPECT_THAT(OfTwo(Trained("a"), ensemble).bits[0].reasons, ElementsAre("ensembles are not compared by bits"));
  auto broken = Trained("b");
  broken.plan = Json();
  EXPECT_THAT(OfTwo(Trained("a"), broken).bits[0].reasons, ElementsAre("plan.json could not be read"));
  auto random = Trained("b");
  random.plan["exchange"]["bits"] = Json();
  EXPECT_THAT(OfTwo(random, random).bits[0].reasons, ElementsAre("gradients.deterministic is false"));
  random.plan["exchange"]["gpu_exchange"] = "nccl";
  EXPECT_THAT(OfTwo(Trained("a"), random).bits[0].reasons, ElementsAre("gpu_exchange is nccl"));
  random.plan["exchange"]["gpu_exchange"] = "mpi";
  EXPECT_THAT(OfTwo(random, Trained("a")).bits[0].reasons, ElementsAre("gpu_exchange is mpi"));
  auto promised = Trained("b");
  promised.plan["exchange"]["gpu_exchange"] = "nccl";
  random.plan["exchange"]["gpu_exchange"] = "auto";
  EXPECT_THAT(OfTwo(promised, random).bits[0].reasons, ElementsAre("gradients.deterministic is false"));
  auto unrecorded = Trained("b");
  unrecorded.view.provenance = Json();
  const auto comparison = OfTwo(Trained("a"), unrecorded);
  EXPECT_THAT(comparison.bits[0].reasons, ElementsAre("the code is not recorded"));
  EXPECT_THAT(comparison.warnings, ElementsAre("b: no provenance is recorded"));
}

TEST(Compare, ShowsMetricsAndCostsOfThreeRuns) {
  auto third = Trained("c");
  third.view.curves.front().value.back() = {};  // not finite
  third.view.accounting = Accounting{3600, 5, {{"compute", 3600}}, 1, 8, 0, {1e6, 2e6}, ""};
  third.plan["spec"]["ensemble"] = Json{{"trials", 4}};
  const std::array runs = {Trained("a"), Trained("b"), third};
  const auto comparison = Compare(runs);
  EXPECT_THAT(comparison.runs, ElementsAre("a", "b", "c"));
  const auto& last = comparison.metrics.at(0);
  EXPECT_EQ(last.name + " " + last.of, "loss last");
  EXPECT_THAT(last.values, ElementsAre(testing::Optional(1.5), testing::Optional(1.5), std::nullopt));
  std::vector<std::string> costs;
  for (const auto& row : comparison.costs) costs.push_back(row.name);
  EXPECT_THAT(costs, ElementsAre("queue", "nodes", "cores", "cpu_energy", "gpu_energy", "compute"));
  EXPECT_EQ(comparison.spec.at(0).key, "ensemble");
  EXPECT_TRUE(comparison.spec.at(0).values.at(0).is_null());
  const auto document = ToJson(comparison);
  EXPECT_EQ(document["schema"], "slipway.compare/1");
  EXPECT_EQ(document["bits"].size(), 2u);
  EXPECT_TRUE(document["metrics"][0]["values"][2].is_null());
}

TEST(Compare, WritesCostsInTheWordsOfTheField) {
  auto run = Trained("a");
  run.view.accounting = Accounting{3600, 5, {{"compute", 1234.5678}}, 0.0012345678, 8.25, 2, {1e6, 2e6}, ""};
  run.view.accounting->gpu_use.utilisation = 0.875;
  const auto text = Describe(OfTwo(run, Trained("b")));
  for (const auto* line : {"queue (s) ", "node-hours ", "core-hours ", "GPU-hours ", "CPU energy (J) ",
                           "GPU energy (J) ", "GPU utilisation (%) ", "compute (%) "}) {
    EXPECT_THAT(text, HasSubstr(std::string("\n") + line));
  }
  EXPECT_THAT(text, HasSubstr(" 0.001235"));
  EXPECT_THAT(text, HasSubstr(" 34.29"));
  EXPECT_THAT(text, HasSubstr(" 87.5"));
}

TEST(Compare, MasksSecrets) {
  auto other = Trained("b");
  other.plan["spec"]["notify"] = Json::array({Json{{"webhook", {{"url", "https://chat.example/hooks/s3cret"}}}}});
  const auto comparison = OfTwo(Trained("a"), other);
  EXPECT_EQ(comparison.spec.at(0).key, "notify");
  EXPECT_EQ(ToJson(comparison).dump().find("s3cret"), std::string::npos);
}

TEST(Compare, ShowsAnEmptyText) {
  auto other = Trained("b");
  other.plan["spec"]["name"] = "";
  EXPECT_THAT(Describe(OfTwo(Trained("a"), other)), HasSubstr("\"\""));
}

TEST(Compare, KeepsHostileTextWithinItsCell) {
  auto other = Trained("b");
  other.plan["spec"]["train"]["args"]["lr"] = std::string("</script>\n") + std::string(500, 'x');
  const auto text = Describe(OfTwo(Trained("a"), other));
  EXPECT_THAT(text, HasSubstr("</script> xxx"));
  EXPECT_EQ(text.find(std::string(60, 'x')), std::string::npos);
}

}  // namespace
}  // namespace slipway::launcher
