/// Writes produced records into one file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "staging/convert/record_producer.h"
#include "staging/formats/compression.h"

namespace slipway::staging {

/// Called with the number of the record that is written next, now and then; may throw to stop.
using OnRecord = std::function<void(std::uint64_t record)>;

/// Records [begin, end) as tf.train.Examples. Arrays of bytes become one bytes value, other integers int64 and floats
/// float32 lists, single bytes int64. A source's own payloads are copied as they are.
void WriteTfrecords(RecordProducer& source, std::uint64_t begin, std::uint64_t end, const std::filesystem::path& path,
                    Compression compression, const OnRecord& on_record);

/// All records, a dataset for each field. Memory: some megabytes.
/// Errors: Error(kEnvironment) naming the field and record whose values differ in length.
void WriteHdf5(RecordProducer& source, const std::filesystem::path& path, const OnRecord& on_record);

}  // namespace slipway::staging
