/// What a detector sees of a collision: an image of its unrolled cylinder.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "staging/make/collisions.h"

namespace slipway::staging {

inline constexpr std::size_t kCalorimeterChannels = 3;

/// Fills `image`, [3, size, size]. Channels: transverse energy in the electromagnetic calorimeter and in the hadronic
/// one (both GeV), and the number of tracks. Rows are the azimuth, all round; columns are the pseudorapidity from -2.5
/// to 2.5. The two calorimeters measure energies with a resolution of 10 % and 50 % of their root. Cells below 0.25 GeV
/// are zero. Nine of ten tracks of pile-up are recognised and left out.
void DrawCalorimeterImage(std::span<const Particle> particles, std::size_t size, Draw& draw, std::span<float> image);

}  // namespace slipway::staging
