#include "staging/reader/reader_counts.h"

#include <algorithm>
#include <utility>

namespace slipway::staging {

void ReaderCounts::HandedOut(std::uint64_t records, std::vector<SkippedRecord>& skipped) {
  ++stats_.batches;
  stats_.records += records;
  stats_.last_wait_s = std::exchange(waited_, 0);
  stats_.wait_s += stats_.last_wait_s;
  stats_.longest_wait_s = std::max(stats_.longest_wait_s, stats_.last_wait_s);
  // In the order of the batch, whichever thread was first.
  std::ranges::stable_sort(skipped, {}, &SkippedRecord::place);
  for (std::size_t i = 0; i < skipped.size(); ++i) {
    if (i == 0 || skipped[i].place != skipped[i - 1].place) ++stats_.replaced;
    if (!corrupt_.insert(skipped[i].record.record).second) continue;
    ++stats_.corrupt_records;
    if (stats_.corrupt.size() < kMostCorruptListed) stats_.corrupt.push_back(std::move(skipped[i].record));
  }
}

}  // namespace slipway::staging
