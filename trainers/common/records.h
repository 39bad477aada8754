/// The records of a task as tensors, batch by batch. Includes libtorch's tensors.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/slipway.hpp"
#include "staging/reader/batches.h"
#include "trainers/common/device_batches.h"
#include "trainers/common/one_ahead.h"
#include "trainers/common/settings.h"
#include "trainers/common/task.h"

namespace trainers {

/// The batches of each rank.
struct BatchPlace {
  std::int64_t size;
  at::Device device;
};

/// Damaged records that were met and passed over.
struct Skipped {
  std::int64_t count = 0;
  std::vector<slipway::staging::CorruptRecord> first_met;  ///< those that had not been met before
};

/// One rank's share of a set, on the device that computes. The spec says what becomes of damaged records:
/// data.NAME.on_corrupt. On a GPU the reader decodes into pinned memory, and each batch is copied while the program
/// computes with the one before; the GPU holds two.
class Records {
 public:
  /// Shuffled by the argument `seed` and data.train.seed. data.train.remainder says what becomes of records that do not
  /// fill a batch on every rank. Another record replaces a skipped one.
  /// Errors: UsageError when that remainder is all records and is dropped, when it should be padded, or when the files
  ///         do not hold what the task takes. Also those of the reader.
  static Records ForTraining(const Task& task, const Settings& settings, const Arguments& arguments,
                             const BatchPlace& batch, const slipway::client::Session& session);
  /// Validation records, in their order. Skipped records are missing.
  static Records ForValidation(const Task& task, const Settings& settings, const BatchPlace& batch,
                               const slipway::client::Session& session);
  /// All of the dataset "test", in their order.
  static Records ForTest(const Task& task, const BatchPlace& batch, const slipway::client::Session& session);

  /// Records of an epoch over all ranks.
  std::int64_t count() const { return static_cast<std::int64_t>(reader_.record_count()); }
  /// Batches of an epoch.
  std::int64_t passes() const { return static_cast<std::int64_t>(reader_.steps_per_epoch()); }
  /// data.NAME.seed.
  std::uint64_t data_seed() const { return data_seed_; }
  slipway::staging::Remainder remainder() const { return remainder_; }

  /// The places of this rank's records among those of all ranks.
  slipway::staging::OrderedPlaces places() const { return reader_.places_of_rank(); }
  /// For Progress::shares.
  std::uint32_t shares() const { return reader_.Position().shares; }

  /// Continues after the first `pass` batches of an epoch; at its end when it has fewer.
  void Begin(std::int64_t epoch, std::int64_t pass);
  /// Nothing at the end of the epoch. The last evaluation batch holds only the records that exist.
  /// Errors: those of the reader; std::runtime_error naming the record whose label is out of range.
  std::optional<TensorBatch> Next();
  /// To the end of the epoch.
  void SkipRest() {
    while (Next()) continue;
  }
  /// Errors: std::runtime_error naming the record whose input or target is not finite.
  void RequireFinite(const TensorBatch& batch) const;

  /// Seconds that Next() has waited for data.
  double WaitedSeconds() const { return reader_.stats().wait_s; }
  /// The records that this rank has skipped since the last call; nothing where a damaged record is an error.
  std::optional<Skipped> TakeSkipped();

 private:
  Records(const Task& task, const slipway::staging::DatasetPlace& place, const slipway::staging::BatchOptions& options,
          at::Device device);
  void CheckLabels(const TensorBatch& batch) const;
  std::optional<TensorBatch> NextOnHost();
  TensorBatch WithoutStandIns(const TensorBatch& batch);

  const Task& task_;
  slipway::staging::OnCorrupt on_corrupt_;
  bool in_order_;
  std::uint64_t data_seed_;
  slipway::staging::Remainder remainder_;
  std::uint64_t records_per_pass_;
  std::vector<at::Tensor> memory_;  ///< of the reader, pinned; empty: it has its own
  slipway::staging::BatchReader reader_;
  std::unique_ptr<OneAhead<Copies>> ahead_;  ///< copies from the reader's memory; null on the CPU
  std::uint64_t next_number_ = 0;            ///< in-order reading: the next record has this number or a larger one
  std::uint64_t skipped_before_ = 0;
  std::size_t met_before_ = 0;
};

}  // namespace trainers
