// CosmoFlow: the parameters of a universe from its density of matter. Mathuriya et al., "CosmoFlow: using deep learning
// to learn the universe at scale", SC 2018: seven convolutions, three full layers, 7,041,443 parameters for three
// values.

#include <numbers>

#include "trainers/common/layers.h"
#include "trainers/common/task.h"
#include "trainers/common/trainer_main.h"
#include "trainers/common/usage_error.h"

namespace {

namespace nn = torch::nn;
namespace staging = slipway::staging;

constexpr std::int64_t kPaperSize = 128;
constexpr std::int64_t kValues = 3;
constexpr double kLeak = 0.3;

/// The logarithm of the density, 0 at its mean and spread over about -2 to 2. Its spread says most about the universe,
/// and a network sees that only around 0.
at::Tensor Contrast(const at::Tensor& density) { return 3 * (torch::log1p(density) - std::numbers::ln2); }

class Cosmoflow final : public trainers::Task {
 public:
  std::string_view name() const override { return "cosmoflow"; }
  std::string_view about() const override {
    return "reads the parameters of a universe from its density of matter, data-parallel over the ranks of a job.";
  }
  std::string_view records() const override { return "volumes"; }

  void Describe(trainers::OptionList& options, trainers::Arguments& arguments) override {
    arguments_ = &arguments;
    arguments.usual_batch_size = 8;
    arguments.optimizer = "sgd";
    arguments.rate = {0.01, "none", 8, 0, "constant"};
    options.AddInt("size", "cells of a side (32)", size_, 16, 512);
    options.AddInt("filters", "of the first convolution; the others have up to 16 times as many (16)", filters_, 1, 64);
  }

  /// oneDNN of libtorch 1.13 returns wrong gradients for the weights of some convolutions.
  void CheckOptions() const override {
    if (arguments_ == nullptr || arguments_->precision != "bf16") return;
    throw trainers::UsageError(
        "--precision bf16: libtorch 1.13 computes wrong gradients of 3-D convolutions in bf16: give --precision fp32");
  }

  staging::BatchField Input(bool /*training*/) const override {
    const auto side = static_cast<std::uint64_t>(size_);
    return {"volume", staging::ElementType::kFloat32, staging::Shape{side, side, side}, {}};
  }
  staging::BatchField Target() const override {
    return {"target", staging::ElementType::kFloat32, staging::Shape{kValues}, {}};
  }
  std::vector<std::int64_t> InputShape() const override { return {1, size_, size_, size_}; }
  at::Tensor Prepared(const at::Tensor& input) const override { return Contrast(input); }

  /// At 128 cells as in the paper, without padding: 2^3 places are left for the full layers. Smaller cubes keep their
  /// edges by padding, others are averaged to as many places, with the same number of parameters.
  nn::Sequential MakeModel() const override {
    nn::Sequential model(nn::Functional{Contrast});
    AddConvolution(model, 1, filters_, 3, 1);
    model->push_back(nn::AvgPool3d(2));
    AddConvolution(model, filters_, 2 * filters_, 4, 1);
    model->push_back(nn::AvgPool3d(2));
    AddConvolution(model, 2 * filters_, 4 * filters_, 4, 2);
    AddConvolution(model, 4 * filters_, 8 * filters_, 3, 2);
    AddConvolution(model, 8 * filters_, 16 * filters_, 3, 1);
    AddConvolution(model, 16 * filters_, 16 * filters_, 2, 1);
    AddConvolution(model, 16 * filters_, 16 * filters_, 2, 1);
    model->push_back(nn::AdaptiveAvgPool3d(2));
    model->push_back(nn::Flatten());
    for (const auto width : {128 * filters_, 16 * filters_}) {
      model->push_back(nn::Linear(128 * filters_, width));
      model->push_back(trainers::Leaky(kLeak));
    }
    model->push_back(nn::Linear(16 * filters_, kValues));
    trainers::DrawWeights(model, kLeak);
    return model;
  }
  std::map<std::string, std::string> Shape() const override {
    return {{"size", std::to_string(size_)}, {"filters", std::to_string(filters_)}};
  }

  at::Tensor Loss(const at::Tensor& outputs, const at::Tensor& targets) const override {
    return torch::mse_loss(outputs, targets);
  }
  at::Tensor Predictions(const at::Tensor& outputs) const override { return outputs; }
  /// Means over records of the absolute errors, in the units of `target`: half the range of a parameter is 1.
  std::vector<std::string> MeasureNames() const override { return {"mae", "mae_omega_m", "mae_sigma_8", "mae_n_s"}; }
  std::vector<double> Measures(const at::Tensor& outputs, const at::Tensor& targets) const override {
    const auto sums = (outputs - targets).abs().sum(0).to(torch::kCPU, torch::kFloat64).contiguous();
    const auto* of = sums.data_ptr<double>();
    return {(of[0] + of[1] + of[2]) / kValues, of[0], of[1], of[2]};
  }

 private:
  void AddConvolution(nn::Sequential& model, std::int64_t from, std::int64_t to, std::int64_t kernel,
                      std::int64_t stride) const {
    const auto padding = size_ < kPaperSize ? kernel / 2 : 0;
    model->push_back(nn::Conv3d(nn::Conv3dOptions(from, to, kernel).stride(stride).padding(padding)));
    model->push_back(trainers::Leaky(kLeak));
  }

  const trainers::Arguments* arguments_ = nullptr;  ///< set by Describe
  std::int64_t size_ = 32;
  std::int64_t filters_ = 16;
};

}  // namespace

int main(int argc, char** argv) {
  Cosmoflow task;
  return trainers::TrainerMain(task, argc, argv);
}
