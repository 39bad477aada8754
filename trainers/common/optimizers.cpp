#include "trainers/common/optimizers.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "trainers/common/torch_files.h"

namespace trainers {
namespace {

double Norm(const at::Tensor& tensor) { return tensor.norm().item<double>(); }

/// Neither biases nor what normalisation scales by.
bool HasScale(const at::Tensor& parameter) { return parameter.dim() > 1; }

/// The gradients of layers whose weights are large against them may move more, others less. The weight decay is added
/// here: it is scaled with the gradient.
void ScaleByTrust(const std::vector<at::Tensor>& parameters, const Arguments& arguments, double rate) {
  const torch::NoGradGuard no_gradients;
  for (const auto& parameter : parameters) {
    auto gradient = parameter.grad();
    const double weight_norm = Norm(parameter);
    const double gradient_norm = Norm(gradient);
    gradient.add_(parameter, arguments.weight_decay);
    if (!HasScale(parameter) || weight_norm == 0 || gradient_norm == 0) continue;
    double scale = arguments.trust * weight_norm / (gradient_norm + arguments.weight_decay * weight_norm);
    if (arguments.trust_clip != 0) scale = rate > 0 ? std::min(scale / rate, 1.0) : 0;
    gradient.mul_(scale);
  }
}

/// One of libtorch's, with or without trust.
class TorchOptimizer final : public Optimizer {
 public:
  TorchOptimizer(const Arguments& arguments, std::vector<at::Tensor> parameters)
      : arguments_(arguments), parameters_(parameters), optimizer_(Make(arguments, std::move(parameters))) {}

  void Step(double rate) override {
    if (arguments_.trust > 0) ScaleByTrust(parameters_, arguments_, rate);
    for (auto& group : optimizer_->param_groups()) group.options().set_lr(rate);
    optimizer_->step();
  }
  void Save(const std::filesystem::path& file) override { torch::save(*optimizer_, file.string()); }
  void Load(const std::filesystem::path& file) override { LoadFile(*optimizer_, file, parameters_.front().device()); }

 private:
  static std::unique_ptr<torch::optim::Optimizer> Make(const Arguments& arguments, std::vector<at::Tensor> parameters) {
    const double rate = arguments.rate.base;
    const double decay = arguments.trust > 0 ? 0 : arguments.weight_decay;  // else ScaleByTrust adds it
    if (arguments.optimizer == "adam") {
      return std::make_unique<torch::optim::Adam>(std::move(parameters),
                                                  torch::optim::AdamOptions(rate).weight_decay(decay));
    }
    return std::make_unique<torch::optim::SGD>(
        std::move(parameters), torch::optim::SGDOptions(rate).momentum(arguments.momentum).weight_decay(decay));
  }

  const Arguments& arguments_;
  std::vector<at::Tensor> parameters_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
};

class Lamb final : public Optimizer {
 public:
  Lamb(const Arguments& arguments, std::vector<at::Tensor> parameters)
      : decay_(arguments.weight_decay), parameters_(std::move(parameters)), steps_(torch::zeros({1}, torch::kInt64)) {
    for (const auto& parameter : parameters_) {
      means_.push_back(torch::zeros_like(parameter));
      squares_.push_back(torch::zeros_like(parameter));
    }
  }

  void Step(double rate) override {
    const torch::NoGradGuard no_gradients;
    steps_ += 1;
    const auto steps = static_cast<double>(steps_.item<std::int64_t>());
    const double mean_scale = 1 / (1 - std::pow(kMeanMemory, steps));
    const double square_scale = 1 / (1 - std::pow(kSquareMemory, steps));
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const auto& gradient = parameters_[i].grad();
      means_[i].mul_(kMeanMemory).add_(gradient, 1 - kMeanMemory);
      squares_[i].mul_(kSquareMemory).addcmul_(gradient, gradient, 1 - kSquareMemory);
      auto update = (means_[i] * mean_scale) / ((squares_[i] * square_scale).sqrt_() + kSmall);
      update.add_(parameters_[i], decay_);
      parameters_[i].sub_(update, rate * (HasScale(parameters_[i]) ? Ratio(Norm(parameters_[i]), Norm(update)) : 1));
    }
  }

  void Save(const std::filesystem::path& file) override { torch::save(State(), file.string()); }

  void Load(const std::filesystem::path& file) override {
    auto ours = State();
    std::vector<at::Tensor> saved;
    LoadFile(saved, file);
    if (saved.size() != ours.size()) {
      throw std::runtime_error(fmt::format("'{}' is the state of another optimizer", file.string()));
    }
    const torch::NoGradGuard no_gradients;
    for (std::size_t i = 0; i < ours.size(); ++i) ours[i].copy_(saved[i]);
  }

 private:
  static constexpr double kMeanMemory = 0.9;
  static constexpr double kSquareMemory = 0.999;
  static constexpr double kSmall = 1e-6;

  static double Ratio(double weight_norm, double update_norm) {
    return weight_norm > 0 && update_norm > 0 ? weight_norm / update_norm : 1;
  }

  std::vector<at::Tensor> State() const {
    std::vector<at::Tensor> all = {steps_};
    all.insert(all.end(), means_.begin(), means_.end());
    all.insert(all.end(), squares_.begin(), squares_.end());
    return all;
  }

  double decay_;
  std::vector<at::Tensor> parameters_;
  at::Tensor steps_;
  std::vector<at::Tensor> means_;
  std::vector<at::Tensor> squares_;
};

}  // namespace

std::unique_ptr<Optimizer> MakeOptimizer(const Arguments& arguments, std::vector<at::Tensor> parameters) {
  if (arguments.optimizer == "lamb") return std::make_unique<Lamb>(arguments, std::move(parameters));
  return std::make_unique<TorchOptimizer>(arguments, std::move(parameters));
}

}  // namespace trainers
