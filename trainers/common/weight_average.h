/// An exponential moving average of weights, which evaluates better than the weights of the last step. Includes
/// libtorch's tensors.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

namespace trainers {

/// Weights have the same bits on all ranks, and so have their averages: nothing is exchanged. Running statistics are
/// averaged with them; those of rank 0 count, as without averages.
class WeightAverage {
 public:
  /// Begins as a copy of `tensors`, which are those of the network. `decay`: see AverageDecay().
  WeightAverage(double decay, std::vector<at::Tensor> tensors);

  /// After a step of the optimizer. Costs a pass over the weights and their averages.
  void Update();
  std::int64_t updates() const { return updates_; }

  /// As new: a copy of what the network holds now.
  void Restart();
  /// The averages in the network are those of a checkpoint, made by so many updates.
  void Continue(std::int64_t updates) { updates_ = updates; }

  /// Weights and averages change places. The network's memory stays where it is.
  void Swap();

 private:
  double decay_;
  std::vector<at::Tensor> tensors_;
  std::vector<at::Tensor> averages_;
  std::int64_t updates_ = 0;
};

/// While it lives, the network holds the averages. Without an average (null) it holds its weights.
class AveragedWeights {
 public:
  explicit AveragedWeights(WeightAverage* average) : average_(average) {
    if (average_ != nullptr) average_->Swap();
  }
  AveragedWeights(const AveragedWeights&) = delete;
  AveragedWeights& operator=(const AveragedWeights&) = delete;
  ~AveragedWeights() {
    if (average_ != nullptr) average_->Swap();
  }

 private:
  WeightAverage* average_;
};

}  // namespace trainers
