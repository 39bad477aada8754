#include "staging/make/collisions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <span>

namespace slipway::staging {
namespace {

constexpr double kHeavyMass = 1400;       // GeV
constexpr double kLeastEnergy = 1000;     // sum of transverse momenta, GeV
constexpr double kFurtherEnergy = 400;    // its mean beyond that
constexpr double kMostEta = 2.5;          // of partons that count
constexpr double kJetRadius = 0.4;        // where splittings begin
constexpr double kNarrowest = 0.01;       // where they end
constexpr double kSoftest = 1;            // GeV
constexpr double kMeanStep = 0.7;         // of the logarithm of the angle from splitting to splitting
constexpr double kPileUpCollisions = 20;  // of a bunch crossing
constexpr double kPileUpParticles = 25;   // of one of them
constexpr double kPhotons = 0.27;         // of all particles: two thirds of the pions are charged
constexpr double kChargedHadrons = 0.60;

struct Vector4 {
  double e = 0, x = 0, y = 0, z = 0;
};

struct Parton {
  double pt = 0, eta = 0, phi = 0;
};

Vector4 IsotropicMassless(Draw& draw) {
  const double energy = draw.Exponential(1) + draw.Exponential(1);
  const double cosine = draw.Between(-1, 1);
  const double sine = std::sqrt(1 - cosine * cosine);
  const double angle = draw.Angle();
  return {energy, energy * sine * std::cos(angle), energy * sine * std::sin(angle), energy * cosine};
}

Vector4 SumOf(std::span<const Vector4> vectors) {
  Vector4 sum;
  for (const auto& v : vectors) sum = {sum.e + v.e, sum.x + v.x, sum.y + v.y, sum.z + v.z};
  return sum;
}

/// Into the frame that moves with velocity -(bx, by, bz), |b| < 1.
Vector4 Boosted(const Vector4& v, double bx, double by, double bz) {
  const double gamma = 1 / std::sqrt(1 - bx * bx - by * by - bz * bz);
  const double along = bx * v.x + by * v.y + bz * v.z;
  const double factor = gamma * (gamma / (gamma + 1) * along + v.e);
  return {gamma * (v.e + along), v.x + factor * bx, v.y + factor * by, v.z + factor * bz};
}

/// RAMBO: massless momenta that add up to (mass, 0, 0, 0), even over phase space.
std::array<Vector4, 5> DecayAtRest(double mass, Draw& draw) {
  std::array<Vector4, 5> products;
  std::ranges::generate(products, [&] { return IsotropicMassless(draw); });
  const auto sum = SumOf(products);
  for (auto& product : products) product = Boosted(product, -sum.x / sum.e, -sum.y / sum.e, -sum.z / sum.e);
  const double scale = mass / SumOf(products).e;
  for (auto& p : products) p = {p.e * scale, p.x * scale, p.y * scale, p.z * scale};
  return products;
}

Parton PartonOf(const Vector4& v) {
  const double pt = std::max(std::hypot(v.x, v.y), 1e-9);
  return {pt, std::asinh(v.z / pt), std::atan2(v.y, v.x)};
}

std::vector<Parton> TwoHeavyDecays(Draw& draw) {
  const double pt = draw.Exponential(0.4 * kHeavyMass);
  const double phi = draw.Angle();
  std::vector<Parton> partons;
  for (const double side : {1.0, -1.0}) {
    const double transverse_mass = std::hypot(kHeavyMass, pt);
    const double rapidity = 0.6 * draw.Normal();
    const double energy = transverse_mass * std::cosh(rapidity);
    for (const auto& product : DecayAtRest(kHeavyMass, draw)) {
      partons.push_back(PartonOf(Boosted(product, side * pt * std::cos(phi) / energy,
                                         side * pt * std::sin(phi) / energy, std::tanh(rapidity))));
    }
  }
  return partons;
}

/// A falling power law above `least`, as the spectra of partons are.
double PowerLaw(double least, double exponent, Draw& draw) {
  return least * std::pow(1 - draw.Between(0, 1), -1 / (exponent - 1));
}

std::vector<Parton> CommonPartons(Draw& draw) {
  const double pt = PowerLaw(400, 5, draw);
  const double phi = draw.Angle();
  std::vector<Parton> partons = {{pt, draw.Normal(), phi},
                                 {pt, draw.Normal(), phi + std::numbers::pi + 0.1 * draw.Normal()}};
  for (auto& hard : std::array{partons[0], partons[1]}) {  // final state, at wide angles
    if (!draw.Chance(0.5)) continue;
    const double share = draw.Between(0.1, 0.4);
    const double angle = draw.Between(kJetRadius, 1.2);
    const double turn = draw.Angle();
    partons.push_back({share * hard.pt, hard.eta + angle * std::cos(turn), hard.phi + angle * std::sin(turn)});
  }
  for (int i = draw.Poisson(2.5); i > 0; --i) {  // initial state
    partons.push_back({std::min(PowerLaw(40, 2.5, draw), pt), 1.5 * draw.Normal(), draw.Angle()});
  }
  return partons;
}

/// Both kinds of events have sums of transverse momenta of one law.
void Rescale(std::vector<Parton>& partons, Draw& draw) {
  double sum = 0;
  for (const auto& parton : partons) sum += std::abs(parton.eta) < kMostEta ? parton.pt : 0;
  const double wanted = kLeastEnergy + draw.Exponential(kFurtherEnergy);
  for (auto& parton : partons) parton.pt *= wanted / std::max(sum, 1.0);
}

ParticleKind DrawKind(Draw& draw) {
  const double place = draw.Between(0, 1);
  if (place < kPhotons) return ParticleKind::kPhoton;
  return place < kPhotons + kChargedHadrons ? ParticleKind::kChargedHadron : ParticleKind::kNeutralHadron;
}

/// Splits at ever smaller angles, with shares that fall as 1/z, until what is left is narrow or soft.
void Shower(const Parton& parton, double angle, Draw& draw, std::vector<Particle>& particles) {
  angle *= std::exp(-draw.Exponential(kMeanStep));
  if (angle < kNarrowest || parton.pt < 2 * kSoftest) {
    particles.push_back({DrawKind(draw), parton.pt, parton.eta, parton.phi, false});
    return;
  }
  const double least = std::min(kSoftest / parton.pt, 0.25);
  const double share = 0.5 * std::pow(2 * least, draw.Between(0, 1));
  const double turn = draw.Angle();
  const auto branch = [&](double part, double offset) {
    Shower({part * parton.pt, parton.eta + offset * std::cos(turn), parton.phi + offset * std::sin(turn)}, angle, draw,
           particles);
  };
  branch(share, angle * (1 - share));
  branch(1 - share, -angle * share);
}

void AddPileUp(Draw& draw, std::vector<Particle>& particles) {
  for (int i = draw.Poisson(kPileUpCollisions * kPileUpParticles); i > 0; --i) {
    const double pt = 0.2 + draw.Exponential(0.5);
    particles.push_back({DrawKind(draw), pt, draw.Between(-kMostEta, kMostEta), draw.Angle(), true});
  }
}

}  // namespace

std::vector<Particle> DrawCollision(bool signal, Draw& draw) {
  auto partons = signal ? TwoHeavyDecays(draw) : CommonPartons(draw);
  Rescale(partons, draw);
  std::vector<Particle> particles;
  for (const auto& parton : partons) Shower(parton, kJetRadius, draw, particles);
  AddPileUp(draw, particles);
  return particles;
}

}  // namespace slipway::staging
