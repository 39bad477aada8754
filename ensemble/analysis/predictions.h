/// Predictions of trials for the validation records, and the true values: predictions.npy and targets.npy.
///
/// Beside each file there may be a document of the same name with .json. It holds the hash of the order of the records:
/// {"schema":"slipway.predictions/1","records":6000,"order":"<hex>"}; of targets "slipway.targets/1". Equal hashes mean
/// equal records in the same order. Files are untrusted: no more memory is allocated than the size of the file needs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace slipway::ensemble {

/// Properties of either file.
struct RecordsFile {
  std::filesystem::path path;
  std::size_t records = 0;
  std::size_t outputs = 1;  ///< numbers for each record
  std::string order;        ///< hash of the record order; empty: unknown
  std::uint32_t crc = 0;    ///< CRC32C of the .npy file
};

/// Finite numbers, row by row, in the order of the records.
struct Predictions : RecordsFile {
  std::vector<float> values;
};

/// Either class labels or numbers; the other is empty.
struct Targets : RecordsFile {
  std::vector<std::int64_t> labels;
  std::vector<float> values;
};

/// Form:   float32 of shape [records] or [records, outputs].
/// Cost:   memory of twice the file while it is read, then once.
/// Errors: SystemError; Error(kEnvironment) naming the file, the reason and how to save it correctly. Reasons: another
///         type or shape; no records; numbers that are not finite; a document that is damaged or has another number of
///         records.
Predictions ReadPredictions(const std::filesystem::path& path);

/// Form:   class labels, integers of 8 to 64 bits of shape [records]; or numbers as those of ReadPredictions.
/// Errors: those of ReadPredictions.
Targets ReadTargets(const std::filesystem::path& path);

/// Errors: Error(kEnvironment) naming both files, when their records or the order of these differ.
void RequireSameRecords(const RecordsFile& predictions, const RecordsFile& targets);

}  // namespace slipway::ensemble
