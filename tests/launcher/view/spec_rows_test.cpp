// The fields in which resolved specs differ.

#include "launcher/view/spec_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "launcher/view/run_view.h"

namespace slipway::launcher {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Json SpecOf(double lr, int nodes) { return Json{{"launch", {{"nodes", nodes}}}, {"train", {{"args", {{"lr", lr}}}}}}; }

RunView RunOf(Json spec) {
  RunView run;
  run.resolved = std::move(spec);
  return run;
}

TEST(SpecRows, HoldOneValueForEachSpec) {
  const auto rows = DifferingFields({SpecOf(0.1, 1), SpecOf(0.1, 2), SpecOf(0.2, 1)});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].key, "launch.nodes");
  EXPECT_THAT(rows[0].values, ElementsAre(Json(1), Json(2), Json(1)));
  EXPECT_EQ(rows[1].key, "train.args.lr");
  EXPECT_THAT(rows[1].values, ElementsAre(Json(0.1), Json(0.1), Json(0.2)));
}

TEST(SpecRows, AreNoneOfEqualSpecsOneSpecOrNoSpec) {
  EXPECT_THAT(DifferingFields({SpecOf(0.1, 1), SpecOf(0.1, 1)}), IsEmpty());
  EXPECT_THAT(DifferingFields({SpecOf(0.1, 1)}), IsEmpty());
  EXPECT_THAT(DifferingFields({}), IsEmpty());
}

TEST(SpecRows, OfASpecThatIsUnknownAreNull) {
  const auto rows = DifferingFields({SpecOf(0.1, 1), Json()});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].key, "launch");
  EXPECT_TRUE(rows[0].values[1].is_null());
}

TEST(SpecRows, StandInTheDocumentOfSeveralRuns) {
  const auto document = ViewDocument({RunOf(SpecOf(0.1, 1)), RunOf(SpecOf(0.2, 1))}, 0);
  EXPECT_EQ(document.at("spec_differences"), Json::array({Json{{"key", "train.args.lr"}, {"values", {0.1, 0.2}}}}));
  EXPECT_FALSE(document.at("runs")[0].contains("resolved"));
  EXPECT_EQ(ViewDocument({RunOf(SpecOf(0.1, 1))}, 0).at("spec_differences"), Json::array());
}

}  // namespace
}  // namespace slipway::launcher
