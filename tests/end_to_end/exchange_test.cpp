// What the plan says of the exchange of gradients, and what the ranks are told of it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "tests/end_to_end/workplace.h"

namespace slipway::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr auto kTuned = R"({"schema":"slipway.algorithms/1","rules":[{"ranks":2,"nodes":1,"table":"mpi:0-99"}]})";

TEST(PlanOfTheExchange, ShowsWhichAllreduceIsUsedForWhichSizes) {
  Workplace place;
  place.Write("config/slipway/algorithms.json", kTuned);
  place.WriteSpec("exp.yaml", "[/bin/true]", 2, "gradients: {mode: delayed, lag: 1, algorithms: 'ring:1MiB-max'}");
  const auto planned = place.Slipway({"plan", "exp.yaml"});
  ASSERT_EQ(planned.status.code, 0) << planned.errors;
  EXPECT_THAT(planned.output,
              HasSubstr("exchange: 2 ranks on 1 node, delayed by 1 step, buckets of 4.19 MB, the same"));
  EXPECT_THAT(planned.output, HasSubstr("  up to 99 B             mpi\n"
                                        "  100 to 1048575 B       shared\n"
                                        "  from 1048576 B         ring\n"));
  EXPECT_THAT(planned.output, HasSubstr("config/slipway/algorithms.json"));

  const auto exchange = Json::parse(place.Slipway({"plan", "exp.yaml", "--json"}).output)["exchange"];
  EXPECT_EQ(exchange["algorithms"], "mpi:0-99;shared:100-1048575;ring:1048576-max");
  EXPECT_EQ(exchange["ranges"].size(), 3u);
  EXPECT_EQ(exchange["ranges"][0], (Json{{"first_bytes", 0}, {"last_bytes", 99}, {"algorithm", "mpi"}}));
  EXPECT_EQ(exchange["mode"], "delayed");
  EXPECT_EQ(exchange["lag"], 1);
  EXPECT_EQ(exchange["bits"]["hash"].get<std::string>().size(), 16u);
}

TEST(PlanOfTheExchange, NamesAWrongFileOfTunedAlgorithms) {
  Workplace place;
  place.Write("config/slipway/algorithms.json", "{}");
  place.WriteSpec("exp.yaml", "[/bin/true]", 2);
  const auto planned = place.Slipway({"plan", "exp.yaml"});
  EXPECT_EQ(planned.status.code, 2);
  EXPECT_THAT(planned.errors, HasSubstr("algorithms.json"));
}

TEST(Exchange, TellsTheRanksWhichFileOfTunedAlgorithmsThePlanHasRead) {
  Workplace place;
  place.Write("config/slipway/algorithms.json", kTuned);
  place.WriteSpec("exp.yaml", "[sh, -c, 'echo table $SLIPWAY_ALGORITHM_TABLE']");
  const auto ran = place.Slipway({"run", "exp.yaml"});
  EXPECT_THAT(ran.output, HasSubstr("table " + (place / "config/slipway/algorithms.json").string()));
}

TEST(Exchange, WarnsWhenAResumedRunGetsOtherBits) {
  Workplace place;
  place.WriteSpec("exp.yaml", "[sh, -c, 'test -e fixed']", 2);
  ASSERT_EQ(place.Slipway({"run", "exp.yaml"}).status.code, 1);
  EXPECT_THAT(place.Slipway({"resume", "last"}).errors, Not(HasSubstr("other bits")));
  place.Write("fixed", "");
  place.SetVariable("SLIPWAY_ALGORITHMS", "ring");
  const auto resumed = place.Slipway({"resume", "last"});
  EXPECT_EQ(resumed.status.code, 0) << resumed.errors;
  EXPECT_THAT(resumed.errors, HasSubstr("warning: the run goes on with other bits than it began with: algorithms was "
                                        "\"shared:0-max\", now \"ring:0-max\""));
}

}  // namespace
}  // namespace slipway::test
