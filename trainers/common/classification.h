/// What trainers that choose one of several classes have in common. Includes libtorch.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <string>
#include <vector>

#include "trainers/common/task.h"

namespace trainers {

/// The model gives a score for each class: cross-entropy, accuracy, softmax as predictions.
class Classification : public Task {
 public:
  at::Tensor Loss(const at::Tensor& outputs, const at::Tensor& targets) const override {
    return torch::nn::functional::cross_entropy(outputs, targets - first_label());
  }
  at::Tensor Predictions(const at::Tensor& outputs) const override { return torch::softmax(outputs, 1); }
  std::vector<std::string> MeasureNames() const override { return {"accuracy"}; }
  std::vector<double> Measures(const at::Tensor& outputs, const at::Tensor& targets) const override {
    return {outputs.argmax(1).eq(targets - first_label()).sum().item<double>()};
  }

 protected:
  slipway::staging::BatchField LabelField(std::string name) const {
    return {std::move(name), slipway::staging::ElementType::kInt64, slipway::staging::Shape{}, {}};
  }
};

}  // namespace trainers
