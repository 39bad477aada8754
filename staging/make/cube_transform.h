/// The discrete Fourier transform of a periodic cube.
#pragma once

#include <complex>
#include <cstddef>
#include <vector>

namespace slipway::staging {

/// [size, size, size], the last index the fastest.
using Cube = std::vector<std::complex<float>>;

/// In place: the sum over all points, without a factor. Cost: 3 size^2 transforms of a line, each O(size log size).
void TransformCube(Cube& cube, std::size_t size);
/// The inverse, with the factor 1 / size^3.
void InvertCube(Cube& cube, std::size_t size);

}  // namespace slipway::staging
