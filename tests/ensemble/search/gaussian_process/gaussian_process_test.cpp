#include "ensemble/search/gaussian_process/gaussian_process.h"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "ensemble/search/numbers/draws.h"
#include "tests/ensemble/search/gaussian_process/gradients.h"

namespace slipway::ensemble {
namespace {

constexpr const char* kPlane = R"({"x":{"uniform":[0,1]},"y":{"uniform":[0,1]}})";
constexpr Shape kShapes[] = {{Smoothness::kTwice, Interactions::kAll},
                             {Smoothness::kAnalytic, Interactions::kAll},
                             {Smoothness::kTwice, Interactions::kPairs},
                             {Smoothness::kAnalytic, Interactions::kPairs}};

class Process : public testing::Test {
 protected:
  double Wave(const Coordinates& at) const { return std::sin(6 * at[0]) + at[1] * at[1]; }
  TrainingSet Waves(int count, double noise = 0) const {
    Draws draws(1, 0, "test");
    TrainingSet data;
    for (int i = 0; i < count; ++i) {
      const Coordinates at = {draws.Unit(), draws.Unit()};
      data.Add(map_, at, Wave(at) + noise * draws.Normal());
    }
    return data;
  }
  std::vector<double> Features(const Coordinates& at) const {
    std::vector<double> features(map_.size());
    map_.Write(at, features);
    return features;
  }

  Encoding encoding_{ParseSpace(Json::parse(kPlane))};
  FeatureMap map_{encoding_};
  Kernel kernel_{{0.4, 0.7}, 1.3, 0.2, 1e-6};
};

TEST_F(Process, OfOnePlaceIsTheTextbookFormula) {
  TrainingSet data;
  data.Add(map_, {0.5, 0.5}, 2.0);
  const GaussianProcess process({{0.5, 0.5}, 1, 1e-9, 0.25}, map_, data);
  const double r = std::sqrt(5.0) * 0.25 / 0.5;
  const double k = (1 + r + r * r / 3) * std::exp(-r);
  const auto posterior = process.At(Features({0.75, 0.5}));
  EXPECT_NEAR(posterior.mean, 2 * k / 1.25, 1e-6);
  EXPECT_NEAR(posterior.deviation, std::sqrt(1 - k * k / 1.25), 1e-6);
}

TEST_F(Process, PassesThroughItsDataAndIsUnsureElsewhere) {
  const GaussianProcess process(kernel_, map_, Waves(20));
  const auto& data = process.data();
  for (std::size_t i = 0; i < data.size(); ++i) {
    const auto posterior = process.At({&data.places[i * data.features], data.features});
    EXPECT_NEAR(posterior.mean, data.values[i], 1e-3);
    EXPECT_NEAR(posterior.mean, process.Means()[i], 1e-8);
    EXPECT_LT(posterior.deviation, 2e-3);
  }
  EXPECT_GT(process.At(Features({3, 3})).deviation, 0.9);
}

TEST_F(Process, HasTheGradientOfItsPosterior) {
  for (const auto& shape : kShapes) {
    kernel_.shape = shape;
    ExpectGradientOfPosterior(GaussianProcess(kernel_, map_, Waves(15)), Features({0.31, 0.77}));
  }
}

TEST_F(Process, JudgesManyPlacesAsItJudgesOne) {
  const GaussianProcess process(kernel_, map_, Waves(15));
  auto both = Features({0.1, 0.2});
  const auto second = Features({0.9, 0.3});
  const auto alone = process.At(second);
  both.insert(both.end(), second.begin(), second.end());
  const auto all = process.AtAll(both);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_NEAR(all[1].mean, alone.mean, 1e-9);
  EXPECT_NEAR(all[1].deviation, alone.deviation, 1e-9);
}

TEST_F(Process, BearsTheSamePlaceManyTimes) {
  TrainingSet data;
  for (int i = 0; i < 50; ++i) data.Add(map_, {0.5, 0.5}, i % 2);
  const GaussianProcess process({{1, 1}, 50, 10, 1e-12}, map_, data);
  EXPECT_NEAR(process.At(Features({0.5, 0.5})).mean, 0.5, 1e-3);
}

TEST_F(Process, LossHasTheGradientOfItsValue) {
  const KernelLoss loss(map_, Waves(12, 0.1));
  for (const auto& shape : kShapes) {
    ExpectGradientOfLoss(loss, {std::log(0.3), std::log(1.2), 0.4, std::log(0.3), std::log(0.01)}, shape);
  }
}

TEST_F(Process, FitSeesNoiseWhereThereIsSome) {
  const auto start = DefaultKernel(2);
  const auto noisy_start = DefaultKernel(2, kMuchNoise);
  EXPECT_LT(FitKernel(map_, Waves(40), {start, noisy_start}, 60).kernel.noise, 1e-4);
  const double noise = FitKernel(map_, Waves(80, 0.5), {start, noisy_start}, 60).kernel.noise;
  EXPECT_GT(noise, 0.1);
  EXPECT_LT(noise, 0.5);
}

TEST_F(Process, FitFindsTheAxisThatDoesNotMatter) {
  Draws draws(2, 0, "test");
  TrainingSet data;
  for (int i = 0; i < 40; ++i) {
    const Coordinates at = {draws.Unit(), draws.Unit()};
    data.Add(map_, at, std::sin(9 * at[0]));
  }
  const auto kernel = FitKernel(map_, data, {DefaultKernel(2)}, 60).kernel;
  EXPECT_GT(kernel.lengths[1], 4 * kernel.lengths[0]);
}

}  // namespace
}  // namespace slipway::ensemble
