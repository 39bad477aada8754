/// What a reader counts of the batches that it hands out.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "staging/reader/batches.h"
#include "staging/reader/record_loader.h"

namespace slipway::staging {

class ReaderCounts {
 public:
  /// For the batch that is handed out next.
  void Waited(double seconds) { waited_ += seconds; }
  /// Takes the text of `skipped`.
  void HandedOut(std::uint64_t records, std::vector<SkippedRecord>& skipped);

  const ReaderStats& stats() const { return stats_; }

 private:
  double waited_ = 0;
  ReaderStats stats_;
  std::set<std::uint64_t> corrupt_;
};

}  // namespace slipway::staging
