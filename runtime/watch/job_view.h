/// Finds the rank that holds the others up, from the status of each rank. Pure.
#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "runtime/watch/rank_status.h"

namespace slipway::runtime {

/// A rank that has waited for long.
struct Waiting {
  int rank = 0;
  SeenCall call;
  double seconds = 0;
  std::vector<int> missing;  ///< ranks of the job that have not come, as far as it knows
};

/// Why the job is ended.
struct Verdict {
  std::string kind;  ///< "dead", "left", "stalled"
  std::string message;
  std::vector<int> culprits;
};

class JobView {
 public:
  /// `statuses`: of all ranks of the job in their order; ranks without a known status are hidden. Empty while a rank
  /// does not know the others.
  explicit JobView(std::vector<RankStatus> statuses) : statuses_(std::move(statuses)) {}

  /// Never empty when `waiting.missing` is not.
  std::vector<int> Culprits(const Waiting& waiting) const;
  /// True when none of them is known to be at fault, and some ranks cannot be seen.
  bool MayBeElsewhere(const std::vector<int>& culprits) const;
  /// True for a rank in slipway_finalize when all `culprits` live and compute outside of Slipway. A validation or an
  /// export after the last exchange may take any time.
  bool WaitsForWork(const Waiting& waiting, const std::vector<int>& culprits) const;
  /// True for the lowest of the ranks that are known to be in slipway_finalize.
  bool IsFirstInFinalize(int rank) const;
  Verdict Judge(const Waiting& waiting, const std::vector<int>& culprits) const;
  /// Hidden when the job has no such rank.
  const RankStatus& Of(int rank) const;
  /// "rank 2 on host n17 (process 10476) is stopped (SIGSTOP), last completed slipway_allreduce at step 5".
  std::string Describe(int rank) const;
  /// The same of the first few of `ranks`, and how many more there are.
  std::string DescribeAll(const std::vector<int>& ranks) const;

 private:
  bool GaveUp(int rank) const;
  bool IsDead(int rank) const;
  bool HasLeft(int rank) const;
  bool MayWait(int rank) const;
  std::vector<int> WithThoseTheyWaitFor(std::vector<int> ranks) const;
  std::vector<int> InAnotherCall(const Waiting& waiting) const;
  std::vector<int> WithAllStopped(std::vector<int> culprits) const;

  std::vector<RankStatus> statuses_;
  RankStatus unknown_;
};

/// One entry of `ranks` in watch.json.
Json ReportOf(const RankStatus& status);

}  // namespace slipway::runtime
