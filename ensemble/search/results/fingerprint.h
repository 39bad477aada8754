/// Short names of what is known: caches hold them to see whether something has changed.
#pragma once

#include <cstdint>
#include <span>

#include "ensemble/search/results/observations.h"

namespace slipway::ensemble {

/// Numbers and values of these trials; never 0. Cost: O(n).
std::uint64_t Fingerprint(std::span<const Observation> results);
/// Also of pending and failed places. Cost: O(n + places * axes).
std::uint64_t Fingerprint(const Observations& known);

}  // namespace slipway::ensemble
