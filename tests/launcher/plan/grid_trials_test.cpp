// How many trials an ensemble has that leaves the number to its grid.

#include "launcher/plan/grid_trials.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/error.h"

namespace slipway::launcher {
namespace {

EnsembleSpec Grid(const char* x) {
  EnsembleSpec ensemble;
  ensemble.space = {ensemble::ParseParameter("x", Json::parse(x)),
                    ensemble::ParseParameter("y", Json::parse(R"({"choice":["a","b"]})"))};
  return ensemble;
}

TEST(GridTrials, AreThePointsThatMeetTheConstraints) {
  auto ensemble = Grid(R"({"uniform":[-5,5],"step":0.1})");
  EXPECT_EQ(CountGridTrials(ensemble), 202);
  ensemble.constraints = {"x in [0.1, 0.2, 0.3, 0.8]"};
  EXPECT_EQ(CountGridTrials(ensemble), 8);
}

TEST(GridTrials, AreNoMoreThanAllowed) {
  auto ensemble = Grid(R"({"int":[1,4]})");
  ensemble.sampler = "grid";
  EXPECT_EQ(CountTrials(ensemble), 8);
  ensemble.trials = 3;
  EXPECT_EQ(CountTrials(ensemble), 3);
  ensemble.trials = 20;
  EXPECT_EQ(CountTrials(ensemble), 8);
  ensemble.points = {ensemble::PointFromJson(Json::parse(R"({"x":2})"))};
  EXPECT_EQ(CountTrials(ensemble), 8) << "it is one of the grid's";
  ensemble.constraints = {"x != 1"};
  EXPECT_EQ(CountTrials(ensemble), 6);
}

TEST(GridTrials, AreThoseThatAutoMeans) {
  auto ensemble = Grid(R"({"int":[1,4]})");
  ensemble.sampler = "auto";
  ensemble.trials = 20;
  EXPECT_EQ(CountTrials(ensemble), 8);
  ensemble.trials = 7;
  EXPECT_EQ(CountTrials(ensemble), 7) << "auto is another sampler then";
  ensemble.sampler = "random";
  ensemble.trials = 20;
  EXPECT_EQ(CountTrials(ensemble), 20) << "random draws a configuration again when it has had them all";
}

TEST(GridTrials, AreNotCountedWhereThatIsALongWay) {
  auto ensemble = Grid(R"({"int":[1,1000000000]})");
  ensemble.sampler = "grid";
  EXPECT_EQ(CountTrials(ensemble), std::nullopt);
  ensemble.trials = 100;
  EXPECT_EQ(CountTrials(ensemble), 100);
  ensemble.constraints = {"x > 999999999"};
  EXPECT_EQ(CountTrials(ensemble), std::nullopt);
}

TEST(GridTrials, AreNotCountedBeyondAMillion) { EXPECT_THROW(CountGridTrials(Grid(R"({"int":[1,1000000]})")), Error); }

}  // namespace
}  // namespace slipway::launcher
