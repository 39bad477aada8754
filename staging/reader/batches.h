/// Batches of a dataset for one rank: shuffled, decoded by threads, ready before they are asked for.
///
/// The content of a batch depends on the options and the files alone. The number of threads and earlier reading before
/// a restart do not matter. Positions are those of EpochPosition: a job may continue with another number of ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "staging/reader/batch_options.h"
#include "staging/reader/batch_plan.h"
#include "staging/reader/elements.h"

namespace slipway::staging {

/// One field of a batch: the records side by side.
struct BatchArray {
  std::string name;
  ElementType type = ElementType::kUint8;
  Shape shape;  ///< the records first: [batch, ...]
  std::span<std::byte> values;
};

/// A batch. What it points to is valid until the next call of BatchReader::Next.
struct Batch {
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;  ///< of this reader in this epoch, from 0 where it began
  std::size_t slot = 0;    ///< which memory of the ring it lies in
  std::span<const BatchArray> fields;
  /// Numbers counted over all files, where nodes hold different ones node after node; kPaddingRecord where nothing is.
  std::span<const std::uint64_t> records;
  std::span<const std::uint8_t> valid;  ///< 1, or 0 for padding, whose values are zeros
  std::uint64_t valid_count = 0;
  /// With BatchOptions::payloads: the whole records; empty for padding.
  std::span<const std::span<const std::byte>> payloads;
};

/// A record that was skipped.
struct CorruptRecord {
  std::uint64_t record = 0;  ///< counted over all files
  std::string where;         ///< "'FILE': record 3", counted in the file
  std::string reason;
};

/// Of the batches handed out since the reader was opened.
struct ReaderStats {
  std::uint64_t batches = 0;
  std::uint64_t records = 0;  ///< without padding
  /// Time that Next() waited: what training loses to its input.
  double wait_s = 0;
  double last_wait_s = 0;
  double longest_wait_s = 0;
  std::uint64_t corrupt_records = 0;   ///< different ones
  std::uint64_t replaced = 0;          ///< places that another record was read for
  std::vector<CorruptRecord> corrupt;  ///< the first kMostCorruptListed
};
inline constexpr std::size_t kMostCorruptListed = 100;

class BatchReader {
 public:
  /// `path` is one of: a staged directory (its manifest.json lists the files), a directory of data files without a
  /// manifest, or one file. Records count over all files in the order of their names. Such a directory holds files of
  /// one format; other files and its folders are left out. A dataset that is being staged is read as it arrives, a
  /// stream in the windowed order. An open reader leases its generation, so it cannot be removed.
  /// `memory`: the caller's, of prefetch + 1 slots, each one span for each field of BytesOf(); empty = the reader takes
  /// its own. Aligned to the element size.
  /// Errors: Error(kEnvironment): nothing there, no records, a damaged file, sizes or record counts that differ from
  ///         the manifest, a manifest path outside the directory, files of different formats or fields. Error(kBusy): a
  ///         generation that is being removed. Error(kUsage): options that do not fit each other or the files.
  static BatchReader Open(const std::filesystem::path& path, const BatchOptions& options,
                          std::vector<std::vector<std::span<std::byte>>> memory = {});

  BatchReader(BatchReader&&) noexcept;
  BatchReader& operator=(BatchReader&&) noexcept;
  ~BatchReader();

  /// The arrays of a batch, without memory.
  const std::vector<BatchArray>& fields() const;
  /// Bytes of each field of a batch. Depends on the options alone; for callers that bring the memory.
  static std::vector<std::size_t> BytesOf(const std::filesystem::path& path, const BatchOptions& options);
  std::uint64_t steps_per_epoch() const;
  /// Records of an epoch over all ranks.
  std::uint64_t record_count() const;
  /// The places of this rank's records in an order of all ranks, without shuffling.
  OrderedPlaces places_of_rank() const;
  /// Where one of Batch::records lies: "'FILE': record 3", counted in the file. Errors: Error(kUsage) for one that this
  /// node does not hold.
  std::string Describe(std::uint64_t record) const;

  /// The next batch; null once at the end of each epoch, after that the next epoch begins. With BatchOptions::epochs,
  /// always null after the last one.
  /// A record that cannot be read: with OnCorrupt::kFail its error, each time. With kSkip the next readable one in this
  /// rank's order takes its place and so comes twice; stats() counts it. Steps stay equal on all ranks.
  /// Errors: Error(kEnvironment) naming file, record and reason.
  const Batch* Next();

  /// Where the batches that were handed out end.
  EpochPosition Position() const;
  /// Continues at `position`. Batches read ahead are dropped. Errors: Error(kUsage) as BatchPlan::PartFrom.
  void Seek(const EpochPosition& position);

  const ReaderStats& stats() const;

 private:
  class Engine;
  explicit BatchReader(std::unique_ptr<Engine> engine);

  std::unique_ptr<Engine> engine_;
};

}  // namespace slipway::staging
