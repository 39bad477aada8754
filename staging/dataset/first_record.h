/// What a data file holds, from its first record: for people who look at files that they did not write.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "staging/formats/example.h"
#include "staging/formats/hdf5.h"
#include "staging/formats/stream_check.h"

namespace slipway::staging {

/// One field as the first record has it.
struct FieldInfo {
  std::string name;
  FeatureKind kind = FeatureKind::kNone;
  /// Bytes of the value for kBytes, else number of values.
  std::uint64_t count = 0;
  /// The shape of one record ({28, 28}); empty where the format does not say it.
  std::vector<std::uint64_t> shape;
};

/// A row of the dataset; int8 and uint8 count as bytes. Errors: those of ValuesPerRow.
FieldInfo FieldInfoOf(const Hdf5Dataset& dataset);

struct FirstRecord {
  DataFormat format = DataFormat::kRaw;
  std::uint64_t records = 0;            ///< of the whole file
  std::optional<RecordKind> kind = {};  ///< of TFRecord
  std::vector<FieldInfo> fields = {};   ///< sorted by name
};

/// Of a file of any format with records but HDF5, whose datasets say all of it: FieldInfoOf.
/// Cost:   TFRecord: one pass over the record headers, a compressed file is inflated into memory. Tar shards: the
///         headers of all members.
/// Errors: Error(kEnvironment) naming the file: no data, damaged, no records, a first record that cannot be read.
///         Error(kBusy): its generation is being removed.
FirstRecord ReadFirstRecord(const std::filesystem::path& file);

}  // namespace slipway::staging
