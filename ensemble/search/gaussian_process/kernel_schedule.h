/// A schedule of kernel fits: a restart gives the same kernels.
#pragma once

#include <span>
#include <vector>

#include "ensemble/search/gaussian_process/kernel.h"
#include "ensemble/search/gaussian_process/output_transform.h"
#include "ensemble/search/results/observations.h"

namespace slipway::ensemble {

/// Kernels are fitted to the first c results, in the order of the trials' numbers, for certain counts c only: often for
/// few results, seldom for many.
/// Fit number k starts from the kernel of fit number k & (k - 1). So every kernel is a function of the rows alone. It
/// costs at most log2(k) fits after a restart, and one fit while the study runs.
class KernelSchedule {
 public:
  /// `map` must outlive the schedule.
  KernelSchedule(const FeatureMap& map, OutputScale scale) : map_(map), scale_(scale) {}

  /// The kernel for these results. Cost: a fit when a new count is reached, else O(n).
  const Kernel& For(std::span<const Observation> complete);

  static constexpr std::size_t kFewest = 4;  ///< with fewer results the kernel is the default one

 private:
  struct Fit {
    std::size_t count = 0;
    std::uint64_t of = 0;  // fingerprint of its results; 0: not fitted yet
    Kernel kernel;
  };
  const Kernel& Fitted(std::size_t number, std::span<const Observation> complete);
  std::vector<Kernel> Starts(std::size_t number, std::span<const Observation> complete);
  TrainingSet DataOf(std::span<const Observation> results) const;

  const FeatureMap& map_;
  OutputScale scale_;
  Kernel start_ = DefaultKernel(map_.axes());
  std::vector<Fit> fits_;
};

}  // namespace slipway::ensemble
