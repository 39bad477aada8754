/// Layers that several networks use. Includes libtorch.
#pragma once

#include <torch/torch.h>

namespace trainers {

/// log(1 + x) of what is never negative: energies and densities that span powers of ten.
inline torch::nn::Functional LogLayer() {
  return torch::nn::Functional([](const at::Tensor& input) { return torch::log1p(input); });
}

/// max(x, slope x).
inline torch::nn::LeakyReLU Leaky(double slope) {
  return torch::nn::LeakyReLU(torch::nn::LeakyReLUOptions().negative_slope(slope));
}

}  // namespace trainers
