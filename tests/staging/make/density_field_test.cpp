#include "staging/make/density_field.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include "staging/make/cube_transform.h"

namespace slipway::staging {
namespace {

constexpr std::size_t kFieldSize = 32;
constexpr double kBox = 256;

std::vector<float> FieldOf(const Cosmology& cosmology, std::uint64_t record) {
  auto draw = Draw::ForRecord(1, record);
  std::vector<float> density(kFieldSize * kFieldSize * kFieldSize);
  DrawDensityField(cosmology, kBox, kFieldSize, draw, density);
  return density;
}

double MeanOf(const std::vector<float>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double VarianceOf(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += (value - 1.0) * (value - 1.0);
  return sum / static_cast<double>(values.size());
}

/// The mean power of the modes with wave numbers around `wave` (in steps of the smallest one), (Mpc/h)^3.
double PowerAt(const std::vector<float>& density, double wave) {
  Cube cube(density.begin(), density.end());
  TransformCube(cube, kFieldSize);
  double power = 0;
  int modes = 0;
  for (std::size_t cell = 1; cell < cube.size(); ++cell) {
    const auto number = [](std::size_t i) {
      return i < kFieldSize / 2 ? static_cast<double>(i) : static_cast<double>(i) - static_cast<double>(kFieldSize);
    };
    const double length = std::hypot(number(cell / kFieldSize / kFieldSize), number(cell / kFieldSize % kFieldSize), number(cell % kFieldSize));
    if (std::abs(length - wave) > 0.5) continue;
    power += std::norm(cube[cell]);
    ++modes;
  }
  const auto cells = static_cast<double>(cube.size());
  return power / modes * std::pow(kBox, 3) / (cells * cells);
}

TEST(CubeTransform, OfOnePointIsEverywhereOneAndItsInverseBringsItBack) {
  Cube cube(kFieldSize * kFieldSize * kFieldSize);
  cube[0] = 1;
  TransformCube(cube, kFieldSize);
  for (const auto& value : cube) ASSERT_NEAR(std::abs(value - 1.0F), 0, 1e-6);
  InvertCube(cube, kFieldSize);
  EXPECT_NEAR(std::abs(cube[0] - 1.0F), 0, 1e-5);
  EXPECT_NEAR(std::abs(cube[1]), 0, 1e-5);
}

TEST(CubeTransform, FindsAWaveAlongEachDirection) {
  for (const std::size_t stride : {std::size_t{1}, kFieldSize, kFieldSize * kFieldSize}) {
    Cube cube(kFieldSize * kFieldSize * kFieldSize);
    for (std::size_t i = 0; i < cube.size(); ++i) {
      const double phase = 2 * std::numbers::pi * 3 * static_cast<double>(i / stride % kFieldSize) / kFieldSize;
      cube[i] = {static_cast<float>(std::cos(phase)), static_cast<float>(std::sin(phase))};
    }
    TransformCube(cube, kFieldSize);
    EXPECT_NEAR(std::abs(cube[3 * stride]), static_cast<double>(cube.size()), 1);
    EXPECT_NEAR(std::abs(cube[2 * stride]), 0, 1);
  }
}

TEST(PowerSpectrum, RisesAsTheFirstFluctuationsAndFallsOnSmallScales) {
  const PowerSpectrum spectrum({0.3, 0.8, 0.96});
  EXPECT_NEAR(spectrum.At(2e-5) / spectrum.At(1e-5), std::pow(2, 0.96), 0.01);
  EXPECT_LT(spectrum.At(1.0), spectrum.At(0.1) / 10);
  EXPECT_EQ(spectrum.At(0), 0);
}

TEST(PowerSpectrum, GrowsWithTheSquareOfItsAmplitude) {
  EXPECT_NEAR(PowerSpectrum({0.3, 0.8, 0.96}).At(0.1) / PowerSpectrum({0.3, 0.4, 0.96}).At(0.1), 4, 1e-9);
}

TEST(PowerSpectrum, TurnsOverOnSmallerScalesWithMoreMatter) {
  const auto ratio = [](double matter) {
    const PowerSpectrum spectrum({matter, 0.8, 0.96});
    return spectrum.At(0.5) / spectrum.At(0.02);
  };
  EXPECT_GT(ratio(0.35), 1.2 * ratio(0.25));
}

TEST(DensityField, KeepsTheMass) { EXPECT_NEAR(MeanOf(FieldOf({0.3, 0.9, 0.96}, 1)), 1, 1e-5); }

TEST(DensityField, HasTheSpectrumThatItWasMadeWith) {
  const Cosmology faint = {0.3, 0.05, 0.96};  // so faint that linear theory holds
  const PowerSpectrum spectrum(faint);
  for (const double wave : {2.0, 4.0, 6.0}) {
    double power = 0;
    for (std::uint64_t i = 0; i < 6; ++i) power += PowerAt(FieldOf(faint, i), wave) / 6;
    const double expected = spectrum.At(wave * 2 * std::numbers::pi / kBox);
    EXPECT_NEAR(power / expected, 1, 0.25) << wave;  // sharing out among cells takes some of the highest
  }
}

TEST(DensityField, ClumpsMoreWithALargerAmplitude) {
  EXPECT_GT(VarianceOf(FieldOf({0.3, 0.95, 0.96}, 1)), 1.15 * VarianceOf(FieldOf({0.3, 0.78, 0.96}, 1)));
}

}  // namespace
}  // namespace slipway::staging
