/// How fast the full TFRecord check is, from memory and on one core.
#pragma once

#include "core/json.h"

namespace slipway::bench {

/// Rates of checks in GB/s: one row for each record size (1 KB, 8 KB, 110 KB, 2 MB), medians over interleaved rounds.
/// - "record_bytes", "check", "check_and_block_crcs".
/// - "slice_by_8": the same check, with the CRC of a processor without CRC instructions.
/// - "memory": the bytes are only read; this is the limit.
/// - "check_of_memory", "check_over_slice_by_8": ratios.
///
/// Cost: 300 MB of memory, some seconds.
Json BenchChecks();

}  // namespace slipway::bench
