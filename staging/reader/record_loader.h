/// Fills places of batches with records: reads, decodes, transforms, and does what is asked about damaged ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "staging/reader/batch_plan.h"
#include "staging/reader/batches.h"
#include "staging/reader/field_source.h"

namespace slipway::staging {

/// The memory of one batch. Threads write to different places of it at once.
struct BatchMemory {
  std::vector<BatchArray> arrays;
  RecordNumbers records;
  std::vector<std::uint8_t> valid;
  std::vector<std::span<const std::byte>> payloads;
  std::vector<std::vector<std::byte>> payload_bytes;  ///< of those that are not mapped
};

/// A damaged record that was met at a place of a batch.
struct SkippedRecord {
  std::size_t place = 0;
  CorruptRecord record;
};

/// Memory that a thread keeps between records.
struct LoaderMemory {
  FetchMemory fetch;
  TransformMemory transform;
  std::vector<FetchedField> fields;
};

/// May be used by several threads, each with its own memory.
class RecordLoader {
 public:
  /// The dataset at `path`, whether it is there, arriving or streamed.
  RecordLoader(const std::filesystem::path& path, const BatchOptions& options);

  const FieldSource& source() const { return *source_; }
  FieldSource& source() { return *source_; }
  /// What a batch calls the first record of the source.
  std::uint64_t first_record() const { return first_; }
  /// The arrays of a batch, without memory.
  const std::vector<BatchArray>& arrays() const { return arrays_; }
  /// Memory for a batch; `values` has one span for each array.
  BatchMemory MakeMemory(std::span<const std::span<std::byte>> values) const;

  /// Fills place `place` of `batch` with what stands at `index` of the part.
  /// Errors: Error naming the record; with OnCorrupt::kSkip only when no record of the part can be read.
  void Load(const EpochPart& part, std::size_t index, BatchMemory& batch, std::size_t place, LoaderMemory& memory,
            std::vector<SkippedRecord>& skipped) const;

  /// What stands at `index` of the part will be loaded soon. In order the processor sees that by itself.
  void Announce(const EpochPart& part, std::size_t index) const {
    if (options_.order == RecordOrder::kInOrder || index >= part.places.size()) return;
    if (part.places[index] != kPaddingRecord) source_->Announce(part.places[index]);
  }

 private:
  void LoadRecord(std::uint64_t epoch, std::uint64_t record, BatchMemory& batch, std::size_t place,
                  LoaderMemory& memory) const;
  void LoadFields(std::uint64_t epoch, std::uint64_t record, BatchMemory& batch, std::size_t place,
                  LoaderMemory& memory) const;
  void Pad(BatchMemory& batch, std::size_t place) const;

  BatchOptions options_;
  std::uint64_t first_;  ///< what is added to this node's numbers of records
  std::unique_ptr<FieldSource> source_;
  std::vector<TransformChain> chains_;
  std::vector<BatchArray> arrays_;
};

}  // namespace slipway::staging
