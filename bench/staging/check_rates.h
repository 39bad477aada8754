/// How fast the full TFRecord check is, from memory and on one core.
#pragma once

#include "core/json.h"

namespace slipway::bench {

/// One row for each size of records (1 KB, 8 KB, 110 KB, 2 MB), rates in GB/s, medians over interleaved rounds:
/// {"record_bytes", "check", "check_and_block_crcs", "slice_by_8" (the same check with the CRC of a processor without
/// help), "memory" (the bytes are only read: the limit), "check_of_memory", "check_over_slice_by_8"}.
/// Cost: 300 MB of memory, some seconds.
Json BenchChecks();

}  // namespace slipway::bench
