/// Fingerprints of observations: caches compare them to detect changes.
#pragma once

#include <cstdint>
#include <span>

#include "ensemble/search/results/observations.h"

namespace slipway::ensemble {

/// Of the numbers and values of these trials; never 0. Cost: O(n).
std::uint64_t Fingerprint(std::span<const Observation> results);
/// The same, and of the pending and failed places. Cost: O(n + places * axes).
std::uint64_t Fingerprint(const Observations& known);

}  // namespace slipway::ensemble
