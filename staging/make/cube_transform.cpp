#include "staging/make/cube_transform.h"

#include <array>
#include <unsupported/Eigen/FFT>

namespace slipway::staging {
namespace {

/// Every line along one direction is copied out, transformed, and copied back.
template <class TransformLine>
void ForEachLine(Cube& cube, std::size_t size, const TransformLine& transform_line) {
  std::vector<std::complex<float>> line(size);
  std::vector<std::complex<float>> transformed(size);
  for (const auto stride : std::array{std::size_t{1}, size, size * size}) {
    for (std::size_t i = 0; i < size * size; ++i) {
      auto* first = cube.data() + i / stride * stride * size + i % stride;
      for (std::size_t j = 0; j < size; ++j) line[j] = first[j * stride];
      transform_line(transformed.data(), line.data());
      for (std::size_t j = 0; j < size; ++j) first[j * stride] = transformed[j];
    }
  }
}

}  // namespace

void TransformCube(Cube& cube, std::size_t size) {
  Eigen::FFT<float> fft;
  ForEachLine(cube, size, [&](auto* to, const auto* from) { fft.fwd(to, from, static_cast<Eigen::Index>(size)); });
}

void InvertCube(Cube& cube, std::size_t size) {
  Eigen::FFT<float> fft;
  ForEachLine(cube, size, [&](auto* to, const auto* from) { fft.inv(to, from, static_cast<Eigen::Index>(size)); });
}

}  // namespace slipway::staging
