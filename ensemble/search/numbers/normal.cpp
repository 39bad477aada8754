#include "ensemble/search/numbers/normal.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace slipway::ensemble {
namespace {

template <std::size_t kCount>
double Polynomial(const double (&coefficients)[kCount], double x) {
  double sum = 0;
  for (std::size_t i = kCount; i-- > 0;) sum = sum * x + coefficients[i];
  return sum;
}

double Centre(double q) {
  static constexpr double kA[] = {3.3871328727963666080e0,  1.3314166789178437745e+2, 1.9715909503065514427e+3,
                                  1.3731693765509461125e+4, 4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                  3.3430575583588128105e+4, 2.5090809287301226727e+3};
  static constexpr double kB[] = {1.0,
                                  4.2313330701600911252e+1,
                                  6.8718700749205790830e+2,
                                  5.3941960214247511077e+3,
                                  2.1213794301586595867e+4,
                                  3.9307895800092710610e+4,
                                  2.8729085735721942674e+4,
                                  5.2264952788528545610e+3};
  const double r = 0.180625 - q * q;
  return q * Polynomial(kA, r) / Polynomial(kB, r);
}

double NearTail(double r) {
  static constexpr double kC[] = {1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                                  3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                                  2.27238449892691845833e-2, 7.74545014278341407640e-4};
  static constexpr double kD[] = {1.0,
                                  2.05319162663775882187e0,
                                  1.67638483018380384940e0,
                                  6.89767334985100004550e-1,
                                  1.48103976427480074590e-1,
                                  1.51986665636164571966e-2,
                                  5.47593808499534494600e-4,
                                  1.05075007164441684324e-9};
  return Polynomial(kC, r - 1.6) / Polynomial(kD, r - 1.6);
}

double FarTail(double r) {
  static constexpr double kE[] = {6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                                  2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                  2.71155556874348757815e-5, 2.01033439929228813265e-7};
  static constexpr double kF[] = {1.0,
                                  5.99832206555887937690e-1,
                                  1.36929880922735805310e-1,
                                  1.48753612908506148525e-2,
                                  7.86869131145613259100e-4,
                                  1.84631831751005468180e-5,
                                  1.42151175831644588870e-7,
                                  2.04426310338993978564e-15};
  return Polynomial(kE, r - 5) / Polynomial(kF, r - 5);
}

}  // namespace

double NormalCdf(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

double NormalQuantile(double probability) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (probability <= 0) return -kInfinity;
  if (probability >= 1) return kInfinity;
  const double q = probability - 0.5;
  if (std::abs(q) <= 0.425) return Centre(q);
  const double r = std::sqrt(-std::log(std::min(probability, 1 - probability)));
  return std::copysign(r <= 5 ? NearTail(r) : FarTail(r), q);
}

double NormalMass(double low, double high) {
  // Differences of small numbers are exact where differences of numbers near 1 are not.
  if (low > 0) return NormalCdf(-low) - NormalCdf(-high);
  return NormalCdf(high) - NormalCdf(low);
}

double TruncatedNormalQuantile(double low, double high, double part) {
  if (low > 0) return -TruncatedNormalQuantile(-high, -low, 1 - part);
  const double below = NormalCdf(low);
  const double at = NormalQuantile(below + part * (NormalCdf(high) - below));
  if (!std::isfinite(at)) return std::isfinite(high) ? std::min(high, 0.0) : std::max(low, 0.0);
  return std::clamp(at, low, high);
}

}  // namespace slipway::ensemble
