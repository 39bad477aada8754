/// What trials predict for the validation records, and what is right: predictions.npy and targets.npy.
///
/// Beside each file may lie a document of the same name with .json, which tells in which order the records stand:
/// {"schema":"slipway.predictions/1","records":6000,"order":"<hex>"}, of targets "slipway.targets/1". Equal hashes mean
/// equal records in the same order. Files are untrusted: nothing is allocated that the file does not hold.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace slipway::ensemble {

/// What is known of either file.
struct RecordsFile {
  std::filesystem::path path;
  std::size_t records = 0;
  std::size_t outputs = 1;  ///< numbers for each record
  std::string order;        ///< hash of the record order; empty: the file does not tell
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
/// Errors: SystemError; Error(kEnvironment) naming the file, the reason and how to save it rightly: another type or
///         shape, no records, numbers that are not finite, a document beside it that is damaged or speaks of other
///         records.
Predictions ReadPredictions(const std::filesystem::path& path);

/// Form:   class labels, integers of 8 to 64 bits of shape [records]; or numbers as those of ReadPredictions.
/// Errors: those of ReadPredictions.
Targets ReadTargets(const std::filesystem::path& path);

/// Errors: Error(kEnvironment) naming both files, when they speak of different records or of another order.
void RequireSameRecords(const RecordsFile& predictions, const RecordsFile& targets);

}  // namespace slipway::ensemble
