/// Layers that several networks use. Includes libtorch.
#pragma once

#include <torch/torch.h>

namespace trainers {

/// max(x, slope x).
inline torch::nn::LeakyReLU Leaky(double slope) {
  return torch::nn::LeakyReLU(torch::nn::LeakyReLUOptions().negative_slope(slope));
}

/// Draws weights by He et al. 2015 for layers followed by max(x, slope x), with biases 0. So signals keep their size,
/// however many layers there are. (libtorch's own weights are smaller: after seven convolutions nothing is left.)
inline void DrawWeights(torch::nn::Sequential& model, double slope) {
  const torch::NoGradGuard no_gradients;
  for (auto& item : model->named_parameters()) {
    auto& parameter = item.value();
    if (parameter.dim() == 1) {
      torch::nn::init::zeros_(parameter);
    } else {
      torch::nn::init::kaiming_normal_(parameter, slope);
    }
  }
}

}  // namespace trainers
