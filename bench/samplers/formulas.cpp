#include "bench/samplers/formulas.h"

#include <array>
#include <cmath>
#include <numbers>
#include <vector>

namespace slipway::bench {
namespace {

using std::numbers::pi;

template <std::size_t kDimensions>
using Rows = std::array<std::array<double, kDimensions>, 4>;

/// Four bumps.
template <std::size_t kDimensions>
double Hartmann(std::span<const double> x, const Rows<kDimensions>& narrow, const Rows<kDimensions>& places) {
  constexpr std::array<double, 4> kHeights = {1.0, 1.2, 3.0, 3.2};
  double sum = 0;
  for (std::size_t bump = 0; bump < 4; ++bump) {
    double distance = 0;
    for (std::size_t j = 0; j < kDimensions; ++j) distance += narrow[bump][j] * Square(x[j] - 1e-4 * places[bump][j]);
    sum += kHeights[bump] * std::exp(-distance);
  }
  return -sum;
}

}  // namespace

double Branin(std::span<const double> x) {
  const double valley = x[1] - 5.1 / (4 * pi * pi) * x[0] * x[0] + 5 / pi * x[0] - 6;
  return valley * valley + 10 * (1 - 1 / (8 * pi)) * std::cos(x[0]) + 10;
}

double Hartmann3(std::span<const double> x) {
  static constexpr Rows<3> kNarrow = {{{3, 10, 30}, {0.1, 10, 35}, {3, 10, 30}, {0.1, 10, 35}}};
  static constexpr Rows<3> kPlaces = {{{3689, 1170, 2673}, {4699, 4387, 7470}, {1091, 8732, 5547}, {381, 5743, 8828}}};
  return Hartmann<3>(x, kNarrow, kPlaces);
}

double Hartmann6(std::span<const double> x) {
  static constexpr Rows<6> kNarrow = {
      {{10, 3, 17, 3.5, 1.7, 8}, {0.05, 10, 17, 0.1, 8, 14}, {3, 3.5, 1.7, 10, 17, 8}, {17, 8, 0.05, 10, 0.1, 14}}};
  static constexpr Rows<6> kPlaces = {{{1312, 1696, 5569, 124, 8283, 5886},
                                       {2329, 4135, 8307, 3736, 1004, 9991},
                                       {2348, 1451, 3522, 2883, 3047, 6650},
                                       {4047, 8828, 8732, 5743, 1091, 381}}};
  return Hartmann<6>(x, kNarrow, kPlaces);
}

double Ackley(std::span<const double> x) {
  double squares = 0, waves = 0;
  for (const double at : x) {
    squares += at * at;
    waves += std::cos(2 * pi * at);
  }
  const auto n = static_cast<double>(x.size());
  return -20 * std::exp(-0.2 * std::sqrt(squares / n)) - std::exp(waves / n) + 20 + std::numbers::e;
}

double Rosenbrock(std::span<const double> x) {
  double sum = 0;
  for (std::size_t i = 0; i + 1 < x.size(); ++i) sum += 100 * Square(x[i + 1] - x[i] * x[i]) + Square(1 - x[i]);
  return sum;
}

double Levy(std::span<const double> x) {
  const auto w = [&](std::size_t i) { return 1 + (x[i] - 1) / 4; };
  const double last = w(x.size() - 1);
  double sum = Square(std::sin(pi * w(0))) + Square(last - 1) * (1 + Square(std::sin(2 * pi * last)));
  for (std::size_t i = 0; i + 1 < x.size(); ++i) sum += Square(w(i) - 1) * (1 + 10 * Square(std::sin(pi * w(i) + 1)));
  return sum;
}

double Rastrigin(std::span<const double> x) {
  double sum = 0;
  for (const double at : x) sum += at * at - 10 * std::cos(2 * pi * at) + 10;
  return sum;
}

double Michalewicz(std::span<const double> x) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double ridge = std::sin(static_cast<double>(i + 1) * x[i] * x[i] / pi);
    sum += std::sin(x[i]) * std::pow(ridge, 20);
  }
  return -sum;
}

double Griewank(std::span<const double> x) {
  double squares = 0, product = 1;
  for (std::size_t i = 0; i < x.size(); ++i) {
    squares += x[i] * x[i];
    product *= std::cos(x[i] / std::sqrt(static_cast<double>(i + 1)));
  }
  return squares / 4000 - product + 1;
}

double StyblinskiTang(std::span<const double> x) {
  double sum = 0;
  for (const double at : x) sum += std::pow(at, 4) - 16 * at * at + 5 * at;
  return sum / 2;
}

double Schwefel(std::span<const double> x) {
  double sum = 0;
  for (const double at : x) sum += 418.9828872724339 - at * std::sin(std::sqrt(std::abs(at)));
  return sum;
}

double DixonPrice(std::span<const double> x) {
  double sum = Square(x[0] - 1);
  for (std::size_t i = 1; i < x.size(); ++i) sum += static_cast<double>(i + 1) * Square(2 * x[i] * x[i] - x[i - 1]);
  return sum;
}

double Zakharov(std::span<const double> x) {
  double squares = 0, slope = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    squares += x[i] * x[i];
    slope += 0.5 * static_cast<double>(i + 1) * x[i];
  }
  return squares + Square(slope) + Square(Square(slope));
}

double Powell(std::span<const double> x) {
  double sum = 0;
  for (std::size_t i = 0; i + 3 < x.size(); i += 4) {
    sum += Square(x[i] + 10 * x[i + 1]) + 5 * Square(x[i + 2] - x[i + 3]) + std::pow(x[i + 1] - 2 * x[i + 2], 4) +
           10 * std::pow(x[i] - x[i + 3], 4);
  }
  return sum;
}

double Trid(std::span<const double> x) {
  double sum = Square(x[0] - 1);
  for (std::size_t i = 1; i < x.size(); ++i) sum += Square(x[i] - 1) - x[i] * x[i - 1];
  return sum;
}

std::vector<double> Mirrored(std::span<const double> x) {
  double along = 0, length = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double normal = 1 + static_cast<double>(i % 3);
    along += normal * x[i];
    length += normal * normal;
  }
  std::vector<double> mirrored;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mirrored.push_back(x[i] - 2 * along / length * (1 + static_cast<double>(i % 3)));
  }
  return mirrored;
}

double Ellipsoid(std::span<const double> x) {
  const auto mirrored = Mirrored(x);
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sum += std::pow(1e4, static_cast<double>(i) / static_cast<double>(x.size() - 1)) * mirrored[i] * mirrored[i];
  }
  return sum;
}

}  // namespace slipway::bench
