#include "staging/make/power_spectrum.h"

#include <cmath>
#include <numbers>

namespace slipway::staging {
namespace {

constexpr double kHubble = 0.6774;
constexpr double kBaryons = 0.0486;
constexpr double kSphere = 8;  // Mpc/h

/// The Fourier transform of a sphere, at wave number times radius.
double SphereWindow(double x) {
  if (x < 1e-3) return 1 - x * x / 10;
  return 3 * (std::sin(x) - x * std::cos(x)) / (x * x * x);
}

}  // namespace

PowerSpectrum::PowerSpectrum(const Cosmology& cosmology)
    : shape_(cosmology.matter * kHubble * std::exp(-kBaryons * (1 + std::sqrt(2 * kHubble) / cosmology.matter))),
      spectral_index_(cosmology.spectral_index) {
  const double spread = cosmology.amplitude / SpreadInSpheres(kSphere);
  scale_ = spread * spread;
}

double PowerSpectrum::At(double k) const { return scale_ * Unscaled(k); }

double PowerSpectrum::Unscaled(double k) const {
  if (k <= 0) return 0;
  const double q = k / shape_;
  const double polynomial = 1 + 3.89 * q + std::pow(16.1 * q, 2) + std::pow(5.46 * q, 3) + std::pow(6.71 * q, 4);
  const double transfer = std::log1p(2.34 * q) / (2.34 * q) * std::pow(polynomial, -0.25);
  return std::pow(k, spectral_index_) * transfer * transfer;
}

/// The root of the integral of k^3 P(k) W(kR)^2 / (2 pi^2) over log k, by the trapezoidal rule: what is left out at its
/// ends, 1e-4 and 1e2 h/Mpc, is less than a thousandth.
double PowerSpectrum::SpreadInSpheres(double radius) const {
  constexpr int kSteps = 2000;
  const double first = std::log(1e-4);
  const double step = (std::log(1e2) - first) / kSteps;
  double sum = 0;
  for (int i = 0; i <= kSteps; ++i) {
    const double k = std::exp(first + i * step);
    const double window = SphereWindow(k * radius);
    sum += k * k * k * Unscaled(k) * window * window;
  }
  return std::sqrt(sum * step / (2 * std::numbers::pi * std::numbers::pi));
}

}  // namespace slipway::staging
