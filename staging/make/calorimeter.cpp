#include "staging/make/calorimeter.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace slipway::staging {
namespace {

constexpr double kCalorimeterEta = 2.5;
constexpr float kThreshold = 0.25F;        // GeV in a cell
constexpr double kPhotonResolution = 0.1;  // of the root of the energy
constexpr double kHadronResolution = 0.5;
constexpr double kHadronSpread = 0.04;  // of a shower in the hadronic calorimeter, in both directions
constexpr double kEarlyShare = 0.3;     // of a hadron's energy that the electromagnetic calorimeter already takes
constexpr double kRecognised = 0.9;     // of the tracks of pile-up
constexpr double kSlowestTrack = 0.5;   // GeV: slower ones curl up

enum Channel { kElectromagnetic, kHadronic, kTracks };

class Image {
 public:
  Image(std::size_t size, std::span<float> cells) : size_(size), cells_(cells) { std::ranges::fill(cells, 0.0F); }

  void Add(Channel channel, double eta, double phi, double amount) {
    if (std::abs(eta) >= kCalorimeterEta) return;
    constexpr double kTurn = 2 * std::numbers::pi;
    const double turned = phi / kTurn - std::floor(phi / kTurn);
    const auto row = std::min(size_ - 1, static_cast<std::size_t>(turned * static_cast<double>(size_)));
    const double along = (eta + kCalorimeterEta) / (2 * kCalorimeterEta);
    const auto column = std::min(size_ - 1, static_cast<std::size_t>(along * static_cast<double>(size_)));
    cells_[(channel * size_ + row) * size_ + column] += static_cast<float>(amount);
  }

  void SuppressZeros() {
    for (auto& cell : cells_.first(kTracks * size_ * size_)) {
      if (cell < kThreshold) cell = 0;
    }
  }

 private:
  std::size_t size_;
  std::span<float> cells_;
};

double Measured(double energy, double resolution, Draw& draw) {
  return std::max(0.0, energy + resolution * std::sqrt(energy) * draw.Normal());
}

void AddHadron(const Particle& particle, Image& image, Draw& draw) {
  const double energy = Measured(particle.pt, kHadronResolution, draw);
  image.Add(kElectromagnetic, particle.eta, particle.phi, kEarlyShare * energy);
  image.Add(kHadronic, particle.eta + kHadronSpread * draw.Normal(), particle.phi + kHadronSpread * draw.Normal(),
            (1 - kEarlyShare) * energy);
}

void AddTrack(const Particle& particle, Image& image, Draw& draw) {
  if (particle.pt < kSlowestTrack || (particle.pile_up && draw.Chance(kRecognised))) return;
  image.Add(kTracks, particle.eta, particle.phi, 1);
}

}  // namespace

void DrawCalorimeterImage(std::span<const Particle> particles, std::size_t size, Draw& draw, std::span<float> cells) {
  Image image(size, cells);
  for (const auto& particle : particles) {
    if (particle.kind == ParticleKind::kPhoton) {
      image.Add(kElectromagnetic, particle.eta, particle.phi, Measured(particle.pt, kPhotonResolution, draw));
    } else {
      AddHadron(particle, image, draw);
    }
    if (particle.kind == ParticleKind::kChargedHadron) AddTrack(particle, image, draw);
  }
  image.SuppressZeros();
}

}  // namespace slipway::staging
