/// The blocks in which a dataset's files are checked: a manifest and a journal hold one CRC32C for each.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/units.h"

namespace slipway::staging {

inline constexpr std::size_t kCrcBlock = 4 << 20;

/// How many blocks a file has; the last one may be shorter.
constexpr std::uint64_t CrcBlocksOf(Bytes size) { return size.count / kCrcBlock + (size.count % kCrcBlock != 0); }

}  // namespace slipway::staging
