/// A cube of the universe as it would be today.
#pragma once

#include <cstddef>
#include <span>

#include "staging/make/draw.h"

namespace slipway::staging {

// How matter clumps at which scale, as a function of the cosmological parameters that the fields are made from.

/// Of a flat universe; h = 0.6774.
struct Cosmology {
  double matter = 0.3;           ///< density of matter, Omega_m
  double amplitude = 0.8;        ///< spread of the density in spheres of 8 Mpc/h, sigma_8
  double spectral_index = 0.96;  ///< of the first fluctuations, n_s
};

/// The linear power spectrum of matter today: P(k) = A k^n_s T(k)^2. T is the transfer function of Bardeen, Bond,
/// Kaiser and Szalay (1986) with the shape of Sugiyama (1995). A is chosen so that the spread in spheres of 8 Mpc/h is
/// sigma_8.
class PowerSpectrum {
 public:
  explicit PowerSpectrum(const Cosmology& cosmology);
  /// k in h/Mpc, at least 0; the result in (Mpc/h)^3. 0 for k = 0.
  double At(double k) const;

 private:
  double Unscaled(double k) const;
  double SpreadInSpheres(double radius) const;

  double shape_;
  double spectral_index_;
  double scale_ = 1;
};

/// Fills `density`, [size, size, size], with the density of matter in units of its mean, in a periodic cube with sides
/// of `box` Mpc/h.
///
/// One particle for each cell moves by the gradient of the potential of a Gaussian field with the spectrum of
/// `cosmology` (Zel'dovich 1970). Its mass is shared out among the eight nearest cells. So mass is kept: the mean is 1.
/// The effects of gravity after particles have crossed are missing.
/// Cost: four transforms of the cube; 40 bytes of memory for each cell.
void DrawDensityField(const Cosmology& cosmology, double box, std::size_t size, Draw& draw, std::span<float> density);

}  // namespace slipway::staging
