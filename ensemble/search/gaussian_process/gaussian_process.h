/// A Gaussian process: from places with values it predicts the values elsewhere.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "ensemble/search/gaussian_process/kernel.h"

namespace slipway::ensemble {

struct Posterior {
  double mean = 0;
  double deviation = 1;  ///< of the function itself, without noise of measurements; positive
};

class GaussianProcess {
 public:
  /// Cost: n^3 flops, 3 ms at n = 200.
  /// Errors: none. A matrix without a Cholesky factor (many equal places, hardly any noise) gets more noise.
  GaussianProcess(Kernel kernel, const FeatureMap& map, TrainingSet data);
  ~GaussianProcess();
  GaussianProcess(GaussianProcess&&) noexcept;
  GaussianProcess& operator=(GaussianProcess&&) noexcept;

  const Kernel& kernel() const { return kernel_; }
  const TrainingSet& data() const { return data_; }
  /// The posterior means at the places of the data: the values without their noise.
  std::vector<double> Means() const;

  /// The posterior at one place. Cost: 2 n^2 flops.
  Posterior At(std::span<const double> features) const;
  /// The same, with the derivatives by the features. Cost: 4 n^2 flops.
  Posterior At(std::span<const double> features, std::span<double> by_mean, std::span<double> by_deviation) const;
  /// The posteriors at many places (features of place i in column i). Several times faster than one call for each.
  std::vector<Posterior> AtAll(std::span<const double> features) const;

 private:
  struct Factor;
  struct Slopes;
  Kernel kernel_;
  TrainingSet data_;
  std::unique_ptr<const Factor> factor_;
};

}  // namespace slipway::ensemble
