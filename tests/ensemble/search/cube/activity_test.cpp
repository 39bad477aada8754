#include "ensemble/search/cube/activity.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "ensemble/search/cube/free_points.h"
#include "ensemble/search/numbers/draws.h"

namespace slipway::ensemble {
namespace {

constexpr const char* kNested = R"({
  "kind":{"choice":["svm","net","tree"]},
  "kernel":{"choice":["rbf","poly"],"when":{"kind":"svm"}},
  "gamma":{"log":[1e-5,1],"when":{"kernel":"rbf"}},
  "layers":{"int":[1,4],"when":{"kind":["net","tree"]}},
  "width":{"int":[8,64],"when":{"layers":[2,4],"kind":"net"}},
  "mode":{"fixed":"fast","when":{"kind":"net"}},
  "speed":{"uniform":[0,1],"when":{"mode":"fast"}}})";

TEST(Activity, TellsFromCoordinatesWhatThePointTells) {
  const Encoding encoding(ParseSpace(Json::parse(kNested)));
  const Activity activity(encoding);
  for (TrialNumber trial = 0; trial < 300; ++trial) {
    const auto at = encoding.Encode(RandomPoint(encoding.space(), 1, trial, 0));
    for (std::size_t i = 0; i < at.size(); ++i) {
      EXPECT_EQ(activity.IsActive(i, at), !std::isnan(at[i])) << "axis " << i << " of trial " << trial;
    }
  }
}

TEST(Activity, WithoutConditionsEverythingIsActive) {
  const Encoding encoding(ParseSpace(Json::parse(R"({"a":{"int":[1,3]},"b":{"uniform":[0,1]}})")));
  const Activity activity(encoding);
  EXPECT_TRUE(activity.IsActive(0, {0.5, 0.5}));
  EXPECT_TRUE(activity.IsActive(1, {0.5, 0.5}));
}

}  // namespace
}  // namespace slipway::ensemble
