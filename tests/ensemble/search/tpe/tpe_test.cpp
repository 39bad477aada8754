#include "ensemble/search/tpe/tpe.h"

#include <gmock/gmock.h>

#include <ctime>
#include <nlohmann/json.hpp>

#include "ensemble/search/cube/free_points.h"

namespace slipway::ensemble {
namespace {

Observations Known(const Encoding& encoding, int trials, double (*value)(const Coordinates& at)) {
  Observations known;
  for (TrialNumber trial = 0; trial < trials; ++trial) {
    auto at = encoding.Encode(RandomPoint(encoding.space(), 11, trial, 0));
    const double result = value(at);
    known.complete.push_back({trial, std::move(at), result, {}});
  }
  return known;
}

double Line(const Coordinates& at) { return at[0]; }

TEST(Tpe, AsksWhereGoodTrialsAre) {
  const Encoding encoding(ParseSpace(Json::parse(R"({"x":{"uniform":[0,1]}})")));
  const auto known = Known(encoding, 100, Line);
  TpeProposer tpe(encoding, 1);
  int near = 0;
  for (TrialNumber trial = 100; trial < 150; ++trial) near += tpe.Propose(known, trial, 0)[0] < 0.2 ? 1 : 0;
  EXPECT_GT(near, 40);
}

TEST(Tpe, KeepsAwayFromPendingAndFailedTrials) {
  const Encoding encoding(ParseSpace(Json::parse(R"({"x":{"uniform":[0,1]}})")));
  auto known = Known(encoding, 20, [](const Coordinates& at) { return std::abs(at[0] - 0.5); });
  TpeProposer tpe(encoding, 1);
  const auto count_near = [&](const Coordinates& place) {
    int near = 0;
    for (TrialNumber trial = 100; trial < 200; ++trial) {
      near += std::abs(tpe.Propose(known, trial, 0)[0] - place[0]) < 0.02 ? 1 : 0;
    }
    return near;
  };
  const auto place = tpe.Propose(known, 100, 0);
  const int before = count_near(place);
  known.pending.assign(5, place);
  const int pending = count_near(place);
  known.failed = std::exchange(known.pending, {});
  EXPECT_LT(pending, before);
  EXPECT_EQ(count_near(place), pending);
}

// `kind: b` looks worse at first; without its own place among the good it would hardly be tried again.
TEST(Tpe, KeepsEveryBranchAlive) {
  const Encoding encoding(ParseSpace(Json::parse(
      R"({"kind":{"choice":["a","b"]},"x":{"uniform":[0,1],"when":{"kind":"a"}},
          "y":{"uniform":[0,1],"when":{"kind":"b"}}})")));
  const auto known =
      Known(encoding, 200, [](const Coordinates& at) { return at[0] + 0.01 * (at[0] == 0 ? at[1] : at[2]); });
  TpeProposer tpe(encoding, 1, {.candidates = 1});
  int others = 0;
  for (TrialNumber trial = 200; trial < 400; ++trial) {
    const auto at = tpe.Propose(known, trial, 0);
    if (at[0] != 1) continue;
    ++others;
    EXPECT_TRUE(std::isnan(at[1]));
  }
  EXPECT_GT(others, 10);
  EXPECT_LT(others, 80);
}

TEST(Tpe, PrefersAFreePlaceOfADiscreteSpace) {
  const Encoding encoding(ParseSpace(Json::parse(R"({"a":{"int":[0,9]}})")));
  auto known = Known(encoding, 0, Line);
  for (TrialNumber trial = 0; trial < 8; ++trial) {
    known.complete.push_back({trial, {(static_cast<double>(trial) + 0.5) / 10}, static_cast<double>(trial), {}});
  }
  TpeProposer tpe(encoding, 1);
  int taken = 0;
  for (TrialNumber trial = 8; trial < 58; ++trial) taken += tpe.Propose(known, trial, 0)[0] < 0.8 ? 1 : 0;
  EXPECT_LT(taken, 10);
}

TEST(Tpe, StaysFastWithTenThousandTrials) {
  Json space = Json::object();
  for (int i = 0; i < 10; ++i) space["x" + std::to_string(i)] = Json::parse(R"({"uniform":[0,1]})");
  const Encoding encoding(ParseSpace(space));
  const auto known = Known(encoding, 10'000, Line);
  TpeProposer tpe(encoding, 1);
  const auto begin = std::clock();  // of this process only: others may take the cores meanwhile
  for (TrialNumber trial = 0; trial < 5; ++trial) tpe.Propose(known, trial, 0);
  const auto took_s = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  EXPECT_LT(took_s / 5, 0.2);  // 3 ms in a release build
}

}  // namespace
}  // namespace slipway::ensemble
