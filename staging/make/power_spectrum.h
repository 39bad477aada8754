/// How matter clumps at which scale, as a function of the cosmological parameters that the fields are made from.
#pragma once

namespace slipway::staging {

/// Of a flat universe; h = 0.6774.
struct Cosmology {
  double matter = 0.3;           ///< density of matter, Omega_m
  double amplitude = 0.8;        ///< spread of the density in spheres of 8 Mpc/h, sigma_8
  double spectral_index = 0.96;  ///< of the first fluctuations, n_s
};

/// P(k) = A k^n_s T(k)^2 with the transfer function of Bardeen, Bond, Kaiser and Szalay (1986) and the shape of
/// Sugiyama (1995), linear, today; A gives spheres of 8 Mpc/h the spread sigma_8.
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

}  // namespace slipway::staging
