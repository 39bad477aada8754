/// The network, its optimizer, and how both go into files and come back. Includes libtorch: for training.cpp only.
#pragma once

#include <fmt/format.h>
#include <torch/torch.h>

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "trainers/fashion/arguments.h"
#include "trainers/fashion/images.h"

namespace fashion {

/// Two convolutions with pooling, two full layers; scores of the classes.
inline torch::nn::Sequential MakeModel(int channels) {
  namespace nn = torch::nn;
  const auto convolution = [](int from, int to) { return nn::Conv2d(nn::Conv2dOptions(from, to, 3).padding(1)); };
  return nn::Sequential(convolution(1, channels), nn::ReLU(), nn::MaxPool2d(2),                   //
                        convolution(channels, 2 * channels), nn::ReLU(), nn::MaxPool2d(2),        //
                        nn::Flatten(), nn::Linear(2 * channels * kPixels / 16, 128), nn::ReLU(),  //
                        nn::Linear(128, kClasses));
}

inline std::unique_ptr<torch::optim::Optimizer> MakeOptimizer(const Arguments& arguments,
                                                              std::vector<at::Tensor> parameters) {
  if (arguments.optimizer == OptimizerKind::kAdam) {
    return std::make_unique<torch::optim::Adam>(
        std::move(parameters), torch::optim::AdamOptions(arguments.lr).weight_decay(arguments.weight_decay));
  }
  return std::make_unique<torch::optim::SGD>(
      std::move(parameters),
      torch::optim::SGDOptions(arguments.lr).momentum(arguments.momentum).weight_decay(arguments.weight_decay));
}

/// torch::load; std::runtime_error naming the file for whatever it finds wrong with it.
template <class Target>
void LoadFile(Target& target, const std::filesystem::path& file) try {
  torch::load(target, file.string());
} catch (const c10::Error& error) {
  throw std::runtime_error(
      fmt::format("the checkpoint's '{}' cannot be read: {}", file.string(), error.what_without_backtrace()));
}

/// Copies the weights of `file` into the memory that `model` has. torch::load alone would give the model other memory,
/// behind the back of the runtime that was told where the weights are, and would accept other shapes.
inline void LoadWeights(torch::nn::Sequential& model, int channels, const std::filesystem::path& file) {
  auto saved = MakeModel(channels);
  LoadFile(saved, file);
  const torch::NoGradGuard no_gradients;
  const auto from = saved->named_parameters();
  for (auto& item : model->named_parameters()) {
    const auto& source = from[item.key()];
    if (source.sizes() != item.value().sizes()) {
      throw std::runtime_error(fmt::format("the checkpoint's '{}' is of another model: the shape of '{}' differs",
                                           file.string(), item.key()));
    }
    item.value().copy_(source);
  }
}

}  // namespace fashion
