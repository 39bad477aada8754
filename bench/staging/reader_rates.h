/// Rates of the batch reader, beside the check of the same bytes in memory and a reader in plain Python.
#pragma once

#include "core/json.h"

namespace slipway::bench {

/// Rates of the batch reader: medians over interleaved rounds.
/// - "whole_records": a row for each "record_bytes", in GB/s. "check": the full TFRecord check of the same bytes in
///   memory, one thread. "check_mapped": the same of the staged files, mapped. "in_order_1", "in_order_2",
///   "shuffled_1", "shuffled_2": whole records of a staged generation, read by 1 and 2 threads. "..._of_check": their
///   ratios to the check.
/// - "examples": "records", and rates in records/s. "reader_1", "reader_2": pictures of 28 x 28 bytes and labels,
///   shuffled, checked and decoded into batches of floats. "plain_python": bench-support/plain_reader.py, in order and
///   unchecked; null without it. "reader_1_of_python", "reader_2_of_python": ratios.
///
/// The data is made in memory (/dev/shm) and removed. If it does not fit there, it is made in the directory for
/// temporary files. Cost: 600 MB, half a minute.
Json BenchReader();

}  // namespace slipway::bench
