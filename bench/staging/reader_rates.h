/// How fast the batch reader is: against the check of the same bytes from memory, and against a plain reader in Python.
#pragma once

#include "core/json.h"

namespace slipway::bench {

/// {"whole_records": [{"record_bytes", "check" (GB/s, the full TFRecord check of the same bytes in memory, one thread),
/// "check_mapped" (of the staged files as they are mapped), "in_order_1", "in_order_2", "shuffled_1", "shuffled_2"
/// (GB/s, whole records from a staged generation by 1 and 2 threads), "..._of_check"}], "examples": {"records",
/// "reader_1", "reader_2" (records/s: pictures of 28 x 28 bytes and labels, shuffled, checked and decoded into batches
/// of floats), "plain_python" (records/s of bench-support/plain_reader.py, in order and unchecked; null without it),
/// "reader_1_of_python", "reader_2_of_python"}}: medians over interleaved rounds. The data is made in memory
/// (/dev/shm), or in the directory for temporary files where that has no room, and removed. Cost: 600 MB, half a
/// minute.
Json BenchReader();

}  // namespace slipway::bench
