#include "trainers/common/weight_average.h"

#include <utility>

#include "trainers/common/average_decay.h"

namespace trainers {

WeightAverage::WeightAverage(double decay, std::vector<at::Tensor> tensors)
    : decay_(decay), tensors_(std::move(tensors)) {
  for (const auto& tensor : tensors_) averages_.push_back(tensor.detach().clone());
}

void WeightAverage::Update() {
  const at::NoGradGuard no_gradients;
  const double share = 1 - AverageDecay(decay_, updates_);
  for (std::size_t i = 0; i < tensors_.size(); ++i) averages_[i].lerp_(tensors_[i], share);
  ++updates_;
}

void WeightAverage::Restart() {
  const at::NoGradGuard no_gradients;
  for (std::size_t i = 0; i < tensors_.size(); ++i) averages_[i].copy_(tensors_[i]);
  updates_ = 0;
}

void WeightAverage::Swap() {
  const at::NoGradGuard no_gradients;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const auto weights = tensors_[i].clone();
    tensors_[i].copy_(averages_[i]);
    averages_[i].copy_(weights);
  }
}

}  // namespace trainers
