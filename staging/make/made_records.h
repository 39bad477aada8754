/// Records that are computed when they are asked for.
#pragma once

#include <cstdint>
#include <memory>

#include "staging/convert/record_producer.h"
#include "staging/make/make_data.h"

namespace slipway::staging {

/// The test set's records are numbered from here on: no record of one set is one of the other.
inline constexpr std::uint64_t kFirstTestRecord = std::uint64_t{1} << 40;

/// Records `first` .. `first + count` - 1 of what `options` describes.
///
/// kHepcnn: `image` float32 [3, size, size], `label` int64 0 or 1, evenly.
/// kCosmoflow: `volume` float32 [size, size, size], `parameters` float32 [3] (Omega_m 0.25 to 0.35, sigma_8 0.78 to
/// 0.95,
///   n_s 0.9 to 1, evenly), `target` float32 [3], the same between -1 and 1.
/// kImagenetLike: `image/encoded` (a JPEG file), `image/height`, `image/width`, `image/class/label` from 1 on,
///   `image/class/text`.
std::unique_ptr<RecordProducer> MakeRecords(const MakeOptions& options, std::uint64_t first, std::uint64_t count);

}  // namespace slipway::staging
