/// A network whose weights are the same on all ranks, and the exchange of its gradients. Includes libtorch's tensors.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/slipway.hpp"
#include "trainers/common/gradient_batch.h"
#include "trainers/common/task.h"

namespace torch::autograd {
struct Node;
}

namespace trainers {

/// The gradients lie one behind the other, on the CPU in memory that the ranks of a node share. So they are exchanged
/// without a copy, each as soon as the backward pass has computed it; on a GPU small ones go together.
class Replica {
 public:
  /// Takes the weights of rank 0. `total_steps` is what schedules of the exchange in per cent refer to. `device` is
  /// where the network lies. Collective.
  Replica(const Task& task, slipway::client::Session& session, std::int64_t total_steps, at::Device device);
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;
  ~Replica();

  std::vector<at::Tensor> parameters() const;
  /// Parameters, then running statistics of normalisation layers.
  std::vector<at::Tensor> Weights() const;
  at::Tensor Forward(const at::Tensor& input);
  void Train();
  /// Running statistics of normalisation layers differ between ranks during training; this takes those of rank 0.
  /// Collective.
  void Evaluate();

  /// The backward pass and the exchange. True when there are gradients to apply. False in passes that only accumulate,
  /// and in the first ones of a delayed exchange. Collective.
  bool BackwardAndExchange(const at::Tensor& loss);

  /// Divides the gradients by the factor of their loss. False when one is not finite: the same on all ranks, because
  /// they hold the same gradients after the exchange.
  bool Unscale(double factor);

  /// Fails when a rank has other weights. Collective.
  void CheckMatch() { session_.CheckMatch(weights_); }

  std::int64_t parameter_count() const { return gradients_.numel(); }
  /// The name of the first weights that hold NaN or infinity; empty when there are none.
  std::string NotFinite() const;

  void Save(const std::filesystem::path& file) const;
  /// Copies the weights of `file` into the memory that the runtime knows. Errors: std::runtime_error naming the file.
  void Load(const std::filesystem::path& file);
  /// Step count and gradients on their way between ranks. The same on every rank. Collective.
  std::vector<char> ExchangeState();
  /// Of an earlier ExchangeState(), before the first step. Collective. Errors: those of slipway_state_load.
  void RestoreExchange(const std::vector<char>& state);

 private:
  void LayOutGradients(at::Device device);
  void SubmitWhenReady();
  void RequireGradientsInPlace() const;

  const Task& task_;
  slipway::client::Session& session_;
  std::unique_ptr<torch::nn::Sequential> model_;
  at::Tensor gradients_;                                ///< all of them, one behind the other
  std::vector<slipway::client::Tensor> gradient_list_;  ///< its parts, as the runtime knows them
  std::vector<slipway::client::Tensor> weights_;
  std::vector<slipway::client::Tensor> buffers_;  ///< float buffers: running statistics
  GradientBatch batch_;
  std::vector<std::shared_ptr<torch::autograd::Node>> accumulators_;  ///< their hooks add to the batch
  bool clear_ = true;                                                 ///< the gradients before the next pass
  int exceptions_ = std::uncaught_exceptions();
};

}  // namespace trainers
