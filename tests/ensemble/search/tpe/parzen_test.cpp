#include "ensemble/search/tpe/parzen.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/ensemble/search/snapped.h"

namespace slipway::ensemble {
namespace {

constexpr double kNoCategory = std::numeric_limits<double>::quiet_NaN();

class Parzen : public testing::Test {
 protected:
  void Build(const char* space, std::vector<Coordinates> centres, ParzenSettings settings = {}) {
    encoding_.emplace(ParseSpace(Json::parse(space)));
    activity_.emplace(*encoding_);
    centres_ = std::move(centres);
    std::vector<const Coordinates*> pointers;
    for (const auto& centre : centres_) pointers.push_back(&centre);
    const std::vector<double> weights(pointers.size(), 1.0);
    density_.emplace(*encoding_, *activity_, pointers, weights, settings);
  }
  double Density(const Coordinates& at) const { return std::exp(density_->LogDensity(at)); }
  /// The integral over a continuous axis (kNone in `at`) by the rule of the middle.
  double Integral(Coordinates at, std::size_t axis) const {
    constexpr int kSteps = 2000;
    double sum = 0;
    for (int i = 0; i < kSteps; ++i) {
      at[axis] = (i + 0.5) / kSteps;
      sum += Density(at);
    }
    return sum / kSteps;
  }

  std::optional<Encoding> encoding_;
  std::optional<Activity> activity_;
  std::vector<Coordinates> centres_;
  std::optional<ParzenDensity> density_;
};

TEST_F(Parzen, WithoutTrialsIsEven) {
  Build(R"({"a":{"uniform":[0,1]},"b":{"int":[1,5]},"c":{"choice":["x","y","z"]}})", {});
  EXPECT_NEAR(Density({0.3, 0.1, 2}), 1, 1e-12);
}

TEST_F(Parzen, IntegratesToOneAlsoAtTheBorder) {
  Build(R"({"a":{"uniform":[0,1]}})", {{0.0}, {0.02}, {0.97}});
  EXPECT_NEAR(Integral({kNoCategory}, 0), 1, 1e-6);
}

TEST_F(Parzen, SumsToOneOverPlacesAndValues) {
  Build(R"({"b":{"int":[1,5]},"c":{"choice":["x","y","z"]}})", {{0.1, 0}, {0.3, 2}});
  double sum = 0;
  for (int place = 0; place < 5; ++place) {
    for (int value = 0; value < 3; ++value) sum += Density({(place + 0.5) / 5, value * 1.0});
  }
  EXPECT_NEAR(sum, 15, 1e-9);  // relative to the even density over 15 points
}

TEST_F(Parzen, ASingleKernelIsATruncatedNormal) {
  Build(R"({"a":{"uniform":[0,1]}})", {{0.2}}, {.bandwidth = 0.1, .narrowest = 0.1, .even_weight = 0});
  const double ratio = Density({0.3}) / Density({0.2});
  EXPECT_NEAR(ratio, std::exp(-0.5), 1e-9);
  EXPECT_NEAR(Density({0.2}), 1 / (0.1 * std::sqrt(2 * M_PI)) / 0.977249868, 1e-6);
}

constexpr const char* kBranches =
    R"({"opt":{"choice":["sgd","adam"]},"lr":{"uniform":[0,1]},"mom":{"uniform":[0,1],"when":{"opt":"sgd"}}})";

TEST_F(Parzen, AConditionalAxisLearnsFromThoseThatHaveIt) {
  // Axes in the order of the space: lr, mom and opt may stand in another order than they are written.
  Build(kBranches, {});
  const auto place = [&](double lr, double mom, double opt) {
    Coordinates at(3);
    for (std::size_t i = 0; i < 3; ++i) {
      const auto& name = encoding_->space().parameters()[encoding_->axis(i).parameter].name;
      at[i] = name == "lr" ? lr : name == "mom" ? mom : opt;
    }
    return at;
  };
  Build(kBranches, {place(0.2, 0.9, 0), place(0.8, kNoCategory, 1), place(0.7, kNoCategory, 1)}, {.bandwidth = 0.05});
  EXPECT_GT(Density(place(0.2, 0.9, 0)), 5 * Density(place(0.2, 0.1, 0)));
  // Given the branch and everything else, the density over `mom` is one.
  double sum = 0;
  for (int i = 0; i < 1000; ++i) sum += Density(place(0.2, (i + 0.5) / 1000, 0)) / 1000;
  double other = 0, all = 0;
  for (int i = 0; i < 200; ++i) {
    other += Density(place((i + 0.5) / 200, kNoCategory, 1)) / 200;
    for (int j = 0; j < 200; ++j) all += Density(place((i + 0.5) / 200, (j + 0.5) / 200, 0)) / 40'000;
  }
  EXPECT_GT(sum, 0);
  EXPECT_NEAR(other + all, 2, 1e-3);  // relative to the even density over two branches
}

TEST_F(Parzen, DrawsWhatItsDensitySays) {
  Build(kBranches, {});
  std::vector<Coordinates> centres(4, Coordinates(3));
  for (std::size_t i = 0; i < 3; ++i) {
    const auto& name = encoding_->space().parameters()[encoding_->axis(i).parameter].name;
    for (auto& centre : centres) centre[i] = name == "lr" ? 0.3 : name == "mom" ? 0.9 : 0;
  }
  Build(kBranches, centres, {.bandwidth = 0.05});
  double log_density = 0, even = 0;
  Draws draws(1, 1, "test");
  for (int i = 0; i < 500; ++i) {
    const auto at = density_->Draw(draws);
    ASSERT_EQ(Snapped(*encoding_, at).size(), 3u);
    for (std::size_t axis = 0; axis < 3; ++axis) EXPECT_EQ(activity_->IsActive(axis, at), !std::isnan(at[axis]));
    log_density += density_->LogDensity(at) / 500;
    Coordinates anywhere = at;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (!std::isnan(at[axis]) && encoding_->axis(axis).kind == AxisKind::kContinuous) anywhere[axis] = draws.Unit();
    }
    even += density_->LogDensity(anywhere) / 500;
  }
  EXPECT_GT(log_density, 1);
  EXPECT_LT(even, 0);
}

TEST_F(Parzen, HasNoTroubleWithHugeRangesAndManyPlaces) {
  Build(R"({"a":{"int":[-9223372036854775808,9223372036854775807]},"b":{"int":[0,100000]},"c":{"int":[0,1]}})",
        {{0.5, 0.5, 0.25}, {1.0, 0.0, 0.75}}, {.bandwidth = 1e-9, .narrowest = 1e-12});
  Draws draws(1, 1, "test");
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(std::isfinite(density_->LogDensity(density_->Draw(draws))));
  EXPECT_TRUE(std::isfinite(density_->LogDensity({0, 1, 0.25})));
}

}  // namespace
}  // namespace slipway::ensemble
