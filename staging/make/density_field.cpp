#include "staging/make/density_field.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "staging/make/cube_transform.h"

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

/// The root of the integral of k^3 P(k) W(kR)^2 / (2 pi^2) over log k, by the trapezoidal rule. Beyond its ends, 1e-4
/// and 1e2 h/Mpc, less than a thousandth is left out.
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

namespace {

using Cells = std::vector<float>;

/// The wave number of a line's `i`-th coefficient, in steps of the smallest one: 0, 1, ..., -2, -1.
double WaveNumber(std::size_t i, std::size_t size) {
  return 2 * i < size ? static_cast<double>(i) : static_cast<double>(i) - static_cast<double>(size);
}

/// Calls `use(cell, {kx, ky, kz})`, wave numbers in steps of the smallest one.
template <class Use>
void ForEachWave(std::size_t size, const Use& use) {
  std::size_t cell = 0;
  for (std::size_t x = 0; x < size; ++x) {
    for (std::size_t y = 0; y < size; ++y) {
      for (std::size_t z = 0; z < size; ++z, ++cell) {
        use(cell, std::array{WaveNumber(x, size), WaveNumber(y, size), WaveNumber(z, size)});
      }
    }
  }
}

double Square(const std::array<double, 3>& v) { return v[0] * v[0] + v[1] * v[1] + v[2] * v[2]; }

/// The coefficients of a real Gaussian field with this spectrum: white noise, coloured.
Cube GaussianField(const Cosmology& cosmology, double box, std::size_t size, Draw& draw) {
  Cube field(size * size * size);
  for (auto& value : field) value = static_cast<float>(draw.Normal());
  TransformCube(field, size);
  const PowerSpectrum spectrum(cosmology);
  const double step = 2 * std::numbers::pi / box;
  const double cell_volume = std::pow(box / static_cast<double>(size), 3);
  ForEachWave(size, [&](std::size_t cell, const auto& wave) {
    field[cell] *= static_cast<float>(std::sqrt(spectrum.At(step * std::sqrt(Square(wave))) / cell_volume));
  });
  return field;
}

/// How far every particle moves along one direction, in cells.
Cells Displacement(const Cube& field, std::size_t direction, std::size_t size) {
  Cube moved(field.size());
  // i k / k^2, and one cell is 2 pi / size of the box, in which k counts whole waves.
  const double cell_of_box = static_cast<double>(size) / (2 * std::numbers::pi);
  ForEachWave(size, [&](std::size_t cell, const auto& wave) {
    const double square = Square(wave);
    // The highest wave number of an even size has no sign, so no gradient.
    const bool flat = square == 0 || -2 * wave[direction] == static_cast<double>(size);
    const auto factor = flat ? 0 : wave[direction] / square * cell_of_box;
    moved[cell] = field[cell] * std::complex<float>(0, static_cast<float>(factor));
  });
  InvertCube(moved, size);
  Cells cells(moved.size());
  std::ranges::transform(moved, cells.begin(), [](const auto& value) { return value.real(); });
  return cells;
}

/// Where a particle lies between two cells of a periodic line.
struct Place {
  std::array<std::size_t, 2> cells;
  std::array<float, 2> shares;
};

Place PlaceOf(double position, std::size_t size) {
  const double turned = position - std::floor(position / static_cast<double>(size)) * static_cast<double>(size);
  const auto below = std::min(size - 1, static_cast<std::size_t>(turned));
  const auto above_share = static_cast<float>(turned - static_cast<double>(below));
  return {{below, (below + 1) % size}, {1 - above_share, above_share}};
}

void AddParticle(const std::array<Place, 3>& places, std::size_t size, std::span<float> density) {
  for (std::size_t corner = 0; corner < 8; ++corner) {
    const std::size_t x = corner >> 2;
    const std::size_t y = corner >> 1 & 1;
    const std::size_t z = corner & 1;
    const auto cell = (places[0].cells[x] * size + places[1].cells[y]) * size + places[2].cells[z];
    density[cell] += places[0].shares[x] * places[1].shares[y] * places[2].shares[z];
  }
}

}  // namespace

void DrawDensityField(const Cosmology& cosmology, double box, std::size_t size, Draw& draw, std::span<float> density) {
  const auto field = GaussianField(cosmology, box, size, draw);
  const std::array moves = {Displacement(field, 0, size), Displacement(field, 1, size), Displacement(field, 2, size)};
  std::ranges::fill(density, 0.0F);
  for (std::size_t cell = 0; cell < density.size(); ++cell) {
    const std::array index = {cell / size / size, cell / size % size, cell % size};
    std::array<Place, 3> places;
    for (std::size_t i = 0; i < 3; ++i) places[i] = PlaceOf(static_cast<double>(index[i]) + moves[i][cell], size);
    AddParticle(places, size, density);
  }
}

}  // namespace slipway::staging
