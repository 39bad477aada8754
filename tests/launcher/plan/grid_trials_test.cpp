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

TEST(GridTrials, AreNotCountedBeyondAMillion) { EXPECT_THROW(CountGridTrials(Grid(R"({"int":[1,1000000]})")), Error); }

}  // namespace
}  // namespace slipway::launcher
