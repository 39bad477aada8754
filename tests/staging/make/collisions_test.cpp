#include "staging/make/collisions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "staging/make/calorimeter.h"

namespace slipway::staging {
namespace {

constexpr std::size_t kSize = 64;
constexpr int kEvents = 200;

std::vector<float> ImageOf(bool signal, std::uint64_t record) {
  auto draw = Draw::ForRecord(1, record);
  std::vector<float> image(kCalorimeterChannels * kSize * kSize);
  DrawCalorimeterImage(DrawCollision(signal, draw), kSize, draw, image);
  return image;
}

double EnergyOf(const std::vector<float>& image) {
  return std::accumulate(image.begin(), image.begin() + 2 * kSize * kSize, 0.0);
}

/// Squares of 8 x 8 cells (some 0.6 x 0.8) with more than 60 GeV: about the number of jets.
double HotSquaresOf(const std::vector<float>& image) {
  std::vector<double> squares(64);
  for (std::size_t i = 0; i < 2 * kSize * kSize; ++i) {
    squares[i / kSize % kSize / 8 * 8 + i % kSize / 8] += image[i];
  }
  return static_cast<double>(std::ranges::count_if(squares, [](double energy) { return energy > 60; }));
}

/// How often a signal event has the larger number, ties counted half: the area under the ROC curve.
template <class Number>
double AreaUnderCurve(const Number& number) {
  std::vector<double> signal;
  std::vector<double> common;
  for (int i = 0; i < kEvents; ++i) {
    signal.push_back(number(ImageOf(true, static_cast<std::uint64_t>(i))));
    common.push_back(number(ImageOf(false, static_cast<std::uint64_t>(kEvents + i))));
  }
  double wins = 0;
  for (const double s : signal) {
    for (const double c : common) wins += s > c ? 1 : s == c ? 0.5 : 0;
  }
  return wins / (kEvents * kEvents);
}

TEST(Collisions, CannotBeToldApartByTheirEnergy) { EXPECT_NEAR(AreaUnderCurve(EnergyOf), 0.5, 0.12); }

TEST(Collisions, CanBeToldApartByTheNumberOfJetsButNotWithoutError) {
  const double area = AreaUnderCurve(HotSquaresOf);
  EXPECT_GT(area, 0.7);
  EXPECT_LT(area, 0.99);
}

TEST(Collisions, HaveTheEnergyThatBothKindsShare) {
  double sum = 0;
  for (int i = 0; i < kEvents; ++i) sum += EnergyOf(ImageOf(i % 2 == 0, static_cast<std::uint64_t>(i)));
  EXPECT_NEAR(sum / kEvents, 1400 + 300, 300);  // jets, and pile-up
}

TEST(Calorimeter, SeesWhatEachPartCanSee) {
  const auto image_of = [](ParticleKind kind) {
    auto draw = Draw::ForRecord(1, 1);
    std::vector<float> image(kCalorimeterChannels * kSize * kSize);
    DrawCalorimeterImage(std::vector<Particle>{{kind, 100, 0, 1, false}}, kSize, draw, image);
    std::vector<double> sums;
    for (std::size_t channel = 0; channel < kCalorimeterChannels; ++channel) {
      const auto* first = image.data() + channel * kSize * kSize;
      sums.push_back(std::accumulate(first, first + kSize * kSize, 0.0));
    }
    return sums;
  };
  const auto photon = image_of(ParticleKind::kPhoton);
  EXPECT_NEAR(photon[0], 100, 5);
  EXPECT_EQ(photon[1], 0);
  EXPECT_EQ(photon[2], 0);
  const auto charged = image_of(ParticleKind::kChargedHadron);
  EXPECT_NEAR(charged[0] + charged[1], 100, 20);
  EXPECT_EQ(charged[2], 1);
  const auto neutral = image_of(ParticleKind::kNeutralHadron);
  EXPECT_GT(neutral[1], neutral[0]);
  EXPECT_EQ(neutral[2], 0);
}

TEST(Calorimeter, TurnsRoundAndHasAnEnd) {
  const auto cell_of = [](double eta, double phi) {
    auto draw = Draw::ForRecord(1, 1);
    std::vector<float> image(kCalorimeterChannels * kSize * kSize);
    DrawCalorimeterImage(std::vector<Particle>{{ParticleKind::kPhoton, 100, eta, phi, false}}, kSize, draw, image);
    const auto hit = std::ranges::find_if(image, [](float cell) { return cell > 0; });
    return hit == image.end() ? -1 : hit - image.begin();
  };
  EXPECT_EQ(cell_of(0, 0.05), cell_of(0, 0.05 + 2 * M_PI));
  EXPECT_EQ(cell_of(0, -0.05), cell_of(0, -0.05 - 4 * M_PI));
  EXPECT_EQ(cell_of(2.6, 0), -1);
  EXPECT_EQ(cell_of(-2.6, 0), -1);
}

}  // namespace
}  // namespace slipway::staging
