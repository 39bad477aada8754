/// Counts the records of source files without a count, so that readers can number them before all have arrived.
#pragma once

#include <cstdint>
#include <functional>

#include "staging/generation/stage.h"
#include "staging/plan/plan.h"

namespace slipway::staging {

enum class CountWhen {
  kCheap,  ///< HDF5, and TFRecord whose records are so large that their headers are few bytes
  kAlways
};

/// Fills SourceFile::records where it can; a file that cannot be counted (damaged, compressed) keeps none.
///
/// Cost:   HDF5: the metadata of each file. TFRecord: a read of each record's header; with records of less than a few
///         kilobytes that is nearly all of the file. Up to 16 files at once.
/// Errors: what `cancelled` makes of it: Error(kInterrupted).
void CountRecords(StagingPlan& plan, CountWhen when, const std::function<bool()>& cancelled);

/// The records of what was staged: those that its manifest knows, or the same count of its files.
/// Errors: Error(kEnvironment) naming a file that cannot be counted; those of CountRecords.
std::uint64_t CountStaged(const StagingPlan& plan, const StagedDataset& staged, const std::function<bool()>& cancelled);

}  // namespace slipway::staging
