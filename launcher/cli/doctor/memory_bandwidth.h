/// Check "memory bandwidth": how fast one core copies; a low figure hints at a faulty machine.
#pragma once

#include <optional>

#include "core/units.h"
#include "launcher/cli/doctor/finding.h"

namespace slipway::launcher {

struct BandwidthFacts {
  std::optional<double> bytes_per_s;  ///< copied: each read once and written once; nothing: too little memory to try
};

/// Cost: about 0.3 s, 256 MiB.
BandwidthFacts ProbeMemoryBandwidth();
/// Pure.
Findings Judge(const BandwidthFacts& facts);

}  // namespace slipway::launcher
