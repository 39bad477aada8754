/// A cube of the universe as it would be today.
#pragma once

#include <cstddef>
#include <span>

#include "staging/make/draw.h"
#include "staging/make/power_spectrum.h"

namespace slipway::staging {

/// Fills `density`, [size, size, size], with the density of matter in units of its mean, in a periodic cube with sides
/// of `box` Mpc/h.
///
/// One particle for each cell moves from its place by the gradient of the potential of a Gaussian field with the
/// spectrum of `cosmology` (Zel'dovich 1970), and is shared out among the eight cells nearest to it. So mass is kept:
/// the mean is 1. What gravity does after particles have crossed is missing. Cost: four transforms of the cube; 40
/// bytes of memory for each cell.
void DrawDensityField(const Cosmology& cosmology, double box, std::size_t size, Draw& draw, std::span<float> density);

}  // namespace slipway::staging
