/// A Gaussian process over places with values: what is likely elsewhere.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "ensemble/search/gaussian_process/kernel.h"

namespace slipway::ensemble {

struct Posterior {
  double mean = 0;
  double deviation = 1;  ///< of the function itself, without the noise of a measurement; positive
};

class GaussianProcess {
 public:
  /// Cost: n^3 flops, 3 ms at n = 200.
  /// Errors: none; a matrix without a Cholesky factor (many equal places, hardly any noise) gets more noise.
  GaussianProcess(Kernel kernel, const FeatureMap& map, TrainingSet data);
  ~GaussianProcess();
  GaussianProcess(GaussianProcess&&) noexcept;
  GaussianProcess& operator=(GaussianProcess&&) noexcept;

  const Kernel& kernel() const { return kernel_; }
  const TrainingSet& data() const { return data_; }
  /// The posterior means at the places of the data: the values without their noise.
  std::vector<double> Means() const;

  /// Cost: 2 n^2 flops.
  Posterior At(std::span<const double> features) const;
  /// With the derivatives by the features. Cost: 4 n^2 flops.
  Posterior At(std::span<const double> features, std::span<double> by_mean, std::span<double> by_deviation) const;
  /// Many at once (features of place i in column i), several times faster than one by one.
  std::vector<Posterior> AtAll(std::span<const double> features) const;

 private:
  struct Factor;
  struct Slopes;
  Kernel kernel_;
  TrainingSet data_;
  std::unique_ptr<const Factor> factor_;
};

}  // namespace slipway::ensemble
