#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "ensemble/search/gaussian_process/kernel.h"

namespace slipway::ensemble {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

class Features : public testing::Test {
 protected:
  static double Distance(const FeatureMap& map, const Coordinates& left, const Coordinates& right) {
    std::vector<double> a(map.size()), b(map.size());
    map.Write(left, a);
    map.Write(right, b);
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return std::sqrt(sum);
  }

  Encoding encoding_{ParseSpace(
      Json::parse(R"({"c":{"choice":["a","b","c"]},"x":{"uniform":[0,2]},"m":{"uniform":[0,1],"when":{"c":"a"}}})"))};
  FeatureMap map_{encoding_};
};

TEST_F(Features, KeepDistancesOnAnAxis) { EXPECT_NEAR(Distance(map_, {1, 0.25, kNone}, {1, 0.75, kNone}), 0.5, 1e-15); }

TEST_F(Features, SetAllCategoriesEquallyFarApart) {
  EXPECT_NEAR(Distance(map_, {1, 0.5, kNone}, {2, 0.5, kNone}), 1, 1e-15);
}

TEST_F(Features, SetInactiveApartFromActiveOnly) {
  EXPECT_EQ(Distance(map_, {1, 0.5, kNone}, {1, 0.5, kNone}), 0);
  const double middle = Distance(map_, {0, 0.5, 0.5}, {0, 0.5, kNone});
  const double border = Distance(map_, {0, 0.5, 1.0}, {0, 0.5, kNone});
  EXPECT_NEAR(middle, std::sqrt(1.0 / 6), 1e-15);
  EXPECT_GT(border, middle);
}

TEST_F(Features, EnlargeANeighbourhood) {
  const auto focused = map_.Focused({1, 0.25, kNone}, 10);
  EXPECT_NEAR(Distance(focused, {1, 0.25, kNone}, {1, 0.3, kNone}), 0.5, 1e-12);
  EXPECT_NEAR(Distance(focused, {1, 0.25, kNone}, {2, 0.25, kNone}), 1, 1e-15);
  std::vector<double> centre(focused.size());
  focused.Write({1, 0.25, kNone}, centre);
  EXPECT_EQ(centre[focused.column(1)], 0);
}

}  // namespace
}  // namespace slipway::ensemble
