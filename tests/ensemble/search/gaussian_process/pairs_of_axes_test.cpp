// Kernels of single axes and pairs of them.

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "ensemble/search/gaussian_process/correlation.h"
#include "ensemble/search/gaussian_process/gaussian_process.h"
#include "ensemble/search/gaussian_process/nearby_model.h"
#include "ensemble/search/numbers/draws.h"
#include "tests/ensemble/search/gaussian_process/gradients.h"
#include "tests/ensemble/search/snapped.h"

namespace slipway::ensemble {
namespace {

constexpr Shape kPairs[] = {{Smoothness::kTwice, Interactions::kPairs}, {Smoothness::kAnalytic, Interactions::kPairs}};

TEST(CorrelationOfPairs, IsOneOfAPlaceWithItself) {
  for (const auto& shape : kPairs) {
    EXPECT_NEAR(CorrelationAt(Eigen::ArrayXXd::Zero(1, 4), shape).value(0), 1, 1e-15);
    EXPECT_NEAR(CorrelationValueAt(Eigen::ArrayXXd::Zero(1, 4), shape)(0), 1, 1e-15);
  }
}

TEST(CorrelationOfPairs, IsThatOfThreeOfSixTermsWhereOneOfThreeAxesIsFar) {
  Eigen::ArrayXXd squares = Eigen::ArrayXXd::Zero(1, 3);
  squares(0, 1) = 1e6;
  for (const auto& shape : kPairs) {
    // Two of three axes and one of three pairs remain, each half the variance; nothing of the hundredth for all axes.
    const double expected = 0.99 * (0.5 * 2 / 3 + 0.5 * 1 / 3);
    EXPECT_NEAR(CorrelationAt(squares, shape).value(0), expected, 1e-12);
    EXPECT_NEAR(CorrelationValueAt(squares, shape)(0), expected, 1e-12);
  }
}

/// Several features for some axes, of which one is not always active.
class MixedAxes : public testing::Test {
 protected:
  Coordinates Place(int number) const {
    Draws draws(5, number, "test");
    std::vector<double> units;
    for (int i = 0; i < 4; ++i) units.push_back(draws.Unit());
    return Snapped(encoding_, UnitToAxes(units, encoding_.axes()));
  }
  TrainingSet Results() const {
    TrainingSet data;
    for (int i = 0; i < 15; ++i) data.Add(map_, Place(i), std::sin(3.0 * i));
    return data;
  }

  Encoding encoding_{ParseSpace(Json::parse(R"({"c":{"choice":["a","b","c"]},"m":{"uniform":[0,1],"when":{"c":"a"}},
    "x":{"uniform":[0,1]},"y":{"uniform":[0,1]}})"))};
  FeatureMap map_{encoding_};
};

TEST_F(MixedAxes, LossHasTheGradientOfItsValue) {
  const KernelLoss loss(map_, Results());
  for (const auto& shape : kPairs) {
    ExpectGradientOfLoss(loss, {-0.3, -0.8, 0.2, -0.5, 0.4, std::log(0.3), std::log(0.01)}, shape);
  }
}

TEST_F(MixedAxes, PosteriorHasTheGradientOfItsValue) {
  std::vector<double> at(map_.size());
  map_.Write(Place(20), at);
  for (const auto& shape : kPairs) {
    ExpectGradientOfPosterior({{{0.7, 0.4, 0.9, 0.5}, 1.3, 0.2, 1e-4, shape}, map_, Results()}, at);
  }
}

/// Of five axes, on which 60 places are few.
class FiveAxes : public testing::Test {
 protected:
  using Function = double (*)(const Coordinates&);

  Coordinates Place(int number) const {
    Draws draws(3, number, "test");
    Coordinates at;
    for (int i = 0; i < 5; ++i) at.push_back(draws.Unit());
    return at;
  }
  TrainingSet Results(Function function) const {
    TrainingSet data;
    for (int i = 0; i < 60; ++i) data.Add(map_, Place(i), function(Place(i)));
    return data;
  }
  Kernel Fit(const TrainingSet& data, Interactions interactions) const {
    return FitKernel(map_, data, {StartOf(interactions)}, 60).kernel;
  }
  Kernel Chosen(const TrainingSet& data) const {
    return FitKernel(map_, data, {StartOf(Interactions::kAll), StartOf(Interactions::kPairs)}, 60).kernel;
  }
  /// Root mean square, at places that are not in the data.
  double ErrorOf(Function function, const Kernel& kernel) const {
    const GaussianProcess process(kernel, map_, Results(function));
    double sum = 0;
    for (int i = 100; i < 200; ++i) {
      std::vector<double> features(map_.size());
      map_.Write(Place(i), features);
      sum += std::pow(process.At(features).mean - function(Place(i)), 2);
    }
    return std::sqrt(sum / 100);
  }

  Encoding encoding_{ParseSpace(Json::parse(
      R"({"a":{"uniform":[0,1]},"b":{"uniform":[0,1]},"c":{"uniform":[0,1]},"d":{"uniform":[0,1]},"e":{"uniform":[0,1]}})"))};
  FeatureMap map_{encoding_};

 private:
  Kernel StartOf(Interactions interactions) const {
    Kernel start = DefaultKernel(5);
    start.shape.interactions = interactions;
    return start;
  }
};

double Ripples(const Coordinates& at) {
  double sum = at[0] * at[1];
  for (const double x : at) sum += std::sin(9 * x);
  return sum;
}

double OneHole(const Coordinates& at) {
  double sum = 0;
  for (const double x : at) sum += 4 * (x - 0.4) * (x - 0.4);
  return -3 * std::exp(-sum);
}

TEST_F(FiveAxes, SumOverPairsIsFoundAndKnownFarFromItsPlaces) {
  const auto data = Results(Ripples);
  const auto chosen = Chosen(data);
  EXPECT_EQ(chosen.shape.interactions, Interactions::kPairs);
  EXPECT_LT(ErrorOf(Ripples, chosen), 0.5 * ErrorOf(Ripples, Fit(data, Interactions::kAll)));
}

TEST_F(FiveAxes, WhatAllAxesMakeTogetherIsNotTakenForASumOverPairs) {
  EXPECT_EQ(Chosen(Results(OneHole)).shape.interactions, Interactions::kAll);
}

TEST_F(FiveAxes, NearbyModelTriesPairsWhereItIsAskedTo) {
  std::vector<Coordinates> places;
  std::vector<double> values;
  for (int i = 0; i < 60; ++i) {
    places.push_back(Place(i));
    values.push_back(Ripples(places.back()));
  }
  const auto with = ExplainResults(map_, places, values, 1e-4, Interactions::kPairs);
  EXPECT_EQ(with.kernel.shape.interactions, Interactions::kPairs);
  const auto without = ExplainResults(map_, places, values, 1e-4);
  EXPECT_EQ(without.kernel.shape.interactions, Interactions::kAll);
}

}  // namespace
}  // namespace slipway::ensemble
