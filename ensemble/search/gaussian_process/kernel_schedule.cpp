#include "ensemble/search/gaussian_process/kernel_schedule.h"

#include <algorithm>

#include "ensemble/search/gaussian_process/subset.h"
#include "ensemble/search/results/observations.h"

namespace slipway::ensemble {
namespace {

constexpr std::size_t kMostToFit = 200;

/// The number of results until the next fit.
std::size_t Pause(std::size_t count) {
  if (count < 30) return 1;
  if (count < 60) return 2;
  return std::clamp(count / 16, std::size_t{4}, std::size_t{40});
}

int Iterations(std::size_t count) { return count < 60 ? 60 : 30; }

Kernel WithOtherInteractions(Kernel kernel) {
  auto& interactions = kernel.shape.interactions;
  interactions = interactions == Interactions::kAll ? Interactions::kPairs : Interactions::kAll;
  return kernel;
}

}  // namespace

const Kernel& KernelSchedule::For(std::span<const Observation> complete) {
  if (complete.size() < kFewest) return start_;
  if (fits_.empty()) fits_.push_back({kFewest, 0, {}});
  for (auto next = fits_.back().count; (next += Pause(next)) <= complete.size();) fits_.push_back({next, 0, {}});
  const auto after = std::ranges::upper_bound(fits_, complete.size(), {}, &Fit::count);
  return Fitted(static_cast<std::size_t>(after - fits_.begin()) - 1, complete);
}

TrainingSet KernelSchedule::DataOf(std::span<const Observation> results) const {
  std::vector<double> values;
  for (const auto& result : results) values.push_back(result.value);
  values = TransformValues(values, scale_);
  TrainingSet data;
  for (const auto i : SpreadSubset(values, kMostToFit)) data.Add(map_, results[i].at, values[i]);
  return data;
}

const Kernel& KernelSchedule::Fitted(std::size_t number, std::span<const Observation> complete) {
  const auto results = complete.first(fits_[number].count);
  const auto fingerprint = Fingerprint(results);
  Fit& fit = fits_[number];
  if (fit.of == fingerprint) return fit.kernel;
  fit.kernel = FitKernel(map_, DataOf(results), Starts(number, complete), Iterations(results.size())).kernel;
  fit.of = fingerprint;
  return fit.kernel;
}

/// The starts of a fit: the kernel before, in both interactions, so that none is fixed. Early fits, and some later
/// ones, also start from default kernels.
std::vector<Kernel> KernelSchedule::Starts(std::size_t number, std::span<const Observation> complete) {
  const std::size_t before = number & (number - 1);
  std::vector<Kernel> starts = {number == 0 ? DefaultKernel(map_.axes()) : Fitted(before, complete)};
  const bool anew = number < 16 || before == 0;
  if (anew && number > 0) starts.push_back(DefaultKernel(map_.axes()));
  if (anew) starts.push_back(DefaultKernel(map_.axes(), kMuchNoise));
  if (map_.axes() < kFewestAxesForPairs) return starts;
  starts.push_back(WithOtherInteractions(starts.front()));
  if (number < 16) starts.push_back(WithOtherInteractions(DefaultKernel(map_.axes(), kMuchNoise)));
  return starts;
}

}  // namespace slipway::ensemble
