/// Proton collisions, roughly: the particles of an event with many hard jets, or of a common one.
#pragma once

#include <vector>

#include "staging/make/draw.h"

namespace slipway::staging {

/// What a calorimeter can tell apart.
enum class ParticleKind { kPhoton, kChargedHadron, kNeutralHadron };

struct Particle {
  ParticleKind kind = ParticleKind::kPhoton;
  double pt = 0;   ///< transverse momentum, GeV
  double eta = 0;  ///< pseudorapidity
  double phi = 0;  ///< azimuth, any turn
  bool pile_up = false;
};

/// `signal`: two heavy particles (1.4 TeV). Each decays into five quarks evenly over phase space (RAMBO: Kleiss,
/// Stirling, Ellis 1986), as gluinos that violate R-parity would. Otherwise: two partons back to back, radiation from
/// the initial state, and splittings at wide angles. The sum of transverse momenta follows the same law for both, so it
/// does not distinguish them; the number and places of the jets do. Each parton becomes a jet by splittings of falling
/// angle. About 20 other collisions of the same bunch crossing add soft particles.
std::vector<Particle> DrawCollision(bool signal, Draw& draw);

}  // namespace slipway::staging
