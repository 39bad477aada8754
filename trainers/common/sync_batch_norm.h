/// Batch normalisation, also with the statistics of the batches of all ranks. Includes libtorch.
#pragma once

#include <torch/torch.h>

#include <cstdint>

namespace trainers {

/// Whose batches give mean and variance in training.
enum class NormalisedOver { kRank, kAllRanks };

/// As torch::nn::BatchNorm2d, with its names of parameters and running statistics, so that checkpoints of both fit.
/// Over all ranks, running statistics have the same bits on each. (A class derived from libtorch's own does not link:
/// parts of that are hidden in its library.)
///
/// Shape:  [batch, channels, height, width]; batches may differ between ranks.
/// Cost:   over all ranks, in training: one allreduce of 2 channels + 1 doubles in the forward pass, one of 2 channels
///         in the backward pass. Statistics are computed in float32 and added in double.
/// Errors: slipway::client::Failure; std::runtime_error, on all ranks, when there are fewer than two values for each
///         channel.
class BatchNormImpl : public torch::nn::Module {
 public:
  BatchNormImpl(std::int64_t channels, NormalisedOver over);

  at::Tensor forward(const at::Tensor& input);

  at::Tensor weight;
  at::Tensor bias;

 private:
  at::Tensor ForwardOverRanks(const at::Tensor& input);

  at::Tensor running_mean_;
  at::Tensor running_var_;
  at::Tensor num_batches_tracked_;
  NormalisedOver over_;
};
TORCH_MODULE(BatchNorm);

}  // namespace trainers
