/// Where a Gaussian process promises most.
#pragma once

#include <vector>

#include "ensemble/search/gaussian_process/candidates.h"
#include "ensemble/search/gaussian_process/gaussian_process.h"

namespace slipway::ensemble {

struct Promise {
  Coordinates at;
  double log_improvement = 0;
};

struct AcquisitionTask {
  const GaussianProcess& process;
  const FeatureMap& map;  ///< the one that the process was made with
  double best = 0;        ///< what is to be improved on
  SearchBox box;
  std::vector<Coordinates> starts;  ///< good places, in whose neighbourhood to look too
};

struct AcquisitionEffort {
  int anywhere = 200;
  int near = 150;  ///< divided among the starts
  int refined = 4;
  int iterations = 40;
};

class AcquisitionSearch {
 public:
  explicit AcquisitionSearch(const Encoding& encoding) : candidates_(encoding) {}

  /// Many places of the box, the most promising first: random ones, the best of them improved by their gradient along
  /// smooth axes and by steps along the others.
  /// Cost: (candidates + 3 * refined * iterations) * n^2 flops.
  std::vector<Promise> Rank(const AcquisitionTask& task, Draws& draws, const AcquisitionEffort& effort = {}) const;

  const Candidates& candidates() const { return candidates_; }

 private:
  std::vector<Promise> Judged(const AcquisitionTask& task, std::vector<Coordinates> places) const;
  Promise Refined(const AcquisitionTask& task, const Promise& from, int iterations, Draws& draws) const;
  Promise Stepped(const AcquisitionTask& task, Promise from, int iterations, Draws& draws) const;

  Candidates candidates_;
};

}  // namespace slipway::ensemble
