/// Gradients held against central differences.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "ensemble/search/gaussian_process/gaussian_process.h"

namespace slipway::ensemble {

inline void ExpectGradientOfLoss(const KernelLoss& loss, std::vector<double> logs, const Shape& shape) {
  constexpr double h = 1e-5;
  std::vector<double> gradient(logs.size()), unused(logs.size());
  loss(logs, gradient, shape);
  for (std::size_t i = 0; i < logs.size(); ++i) {
    logs[i] += h;
    const double above = loss(logs, unused, shape);
    logs[i] -= 2 * h;
    const double below = loss(logs, unused, shape);
    logs[i] += h;
    EXPECT_NEAR(gradient[i], (above - below) / (2 * h), 1e-4) << i;
  }
}

inline void ExpectGradientOfPosterior(const GaussianProcess& process, std::vector<double> at) {
  constexpr double h = 1e-6;
  std::vector<double> by_mean(at.size()), by_deviation(at.size());
  process.At(at, by_mean, by_deviation);
  for (std::size_t i = 0; i < at.size(); ++i) {
    at[i] += h;
    const auto above = process.At(at);
    at[i] -= 2 * h;
    const auto below = process.At(at);
    at[i] += h;
    EXPECT_NEAR(by_mean[i], (above.mean - below.mean) / (2 * h), 1e-5) << i;
    EXPECT_NEAR(by_deviation[i], (above.deviation - below.deviation) / (2 * h), 2e-5) << i;
  }
}

}  // namespace slipway::ensemble
