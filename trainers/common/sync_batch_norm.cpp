#include "trainers/common/sync_batch_norm.h"

#include <fmt/format.h>

#include <stdexcept>
#include <tuple>

#include "runtime/slipway.hpp"

namespace trainers {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// All dimensions but that of the channels.
constexpr std::int64_t kAside[] = {0, 2, 3};

// Those of torch::nn::BatchNorm2d.
constexpr double kMomentum = 0.1;
constexpr double kEpsilon = 1e-5;

/// One number for each channel, to be combined with a batch.
at::Tensor LikeChannels(const at::Tensor& numbers) { return numbers.view({1, -1, 1, 1}); }

/// Of doubles, over all ranks. Collective.
at::Tensor SumOverRanks(const at::Tensor& numbers) {
  auto sums = numbers.to(at::kCPU, at::kDouble).contiguous();
  slipway::client::Check(
      slipway_allreduce(sums.data_ptr<double>(), sums.numel(), SLIPWAY_FLOAT64, SLIPWAY_SUM, SLIPWAY_ALL));
  return sums;
}

/// Of a batch on all ranks, one mean and one variance (biased) for each channel.
struct Moments {
  at::Tensor mean;
  at::Tensor variance;
  double count = 0;  ///< of values of each channel
};

/// Collective.
Moments MomentsOf(const at::Tensor& values) {
  const auto count = static_cast<double>(values.numel() / values.size(1));
  auto [variance, mean] = at::var_mean(values, kAside, /*unbiased=*/false);
  mean = mean.to(at::kDouble);
  variance = variance.to(at::kDouble);
  const auto sums = SumOverRanks(at::cat({mean * count, (variance + mean * mean) * count, mean.new_full({1}, count)}));
  const auto channels = values.size(1);
  const double total = sums[2 * channels].item<double>();
  if (total < 2) {
    throw std::runtime_error(
        fmt::format("batch normalisation: the batches of all ranks have {} values for each channel; training needs 2 "
                    "or more",
                    total));
  }
  const auto means = sums.narrow(0, 0, channels) / total;
  const auto squares = sums.narrow(0, channels, channels) / total;
  return {means.to(values.options()), (squares - means * means).clamp_min_(0).to(values.options()), total};
}

/// (values - mean) / deviation * weight + bias, where mean and deviation depend on the values of all ranks. The
/// gradients of weight and bias are those of this rank, as of all parameters before their exchange.
class Normalise : public torch::autograd::Function<Normalise> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& values, const at::Tensor& weight,
                            const at::Tensor& bias, const Moments& moments) {
    context->save_for_backward({values, weight, moments.mean, moments.variance});
    context->saved_data["count"] = moments.count;
    const auto result = at::batch_norm(values.to(at::kFloat), weight, bias, moments.mean, moments.variance,
                                       /*training=*/false, 0, kEpsilon, /*cudnn_enabled=*/false);
    return result.to(values.scalar_type());
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const auto& weight = saved[1];
    const auto upstream = gradients[0].to(at::kFloat);
    const auto inverse = at::rsqrt(saved[3] + kEpsilon);
    const auto normalised = (saved[0].to(at::kFloat) - LikeChannels(saved[2])) * LikeChannels(inverse);
    const auto sums = at::stack({upstream.sum(kAside), (upstream * normalised).sum(kAside)});
    const auto means = (SumOverRanks(sums) / context->saved_data["count"].toDouble()).to(upstream.options());
    const auto centred = upstream - LikeChannels(means[0]) - normalised * LikeChannels(means[1]);
    const auto of_values = (centred * LikeChannels(inverse * weight)).to(saved[0].scalar_type());
    return {of_values, sums[1], sums[0], at::Tensor()};
  }
};

}  // namespace

BatchNormImpl::BatchNormImpl(std::int64_t channels, NormalisedOver over)
    : weight(register_parameter("weight", torch::ones({channels}))),
      bias(register_parameter("bias", torch::zeros({channels}))),
      running_mean_(register_buffer("running_mean", torch::zeros({channels}))),
      running_var_(register_buffer("running_var", torch::ones({channels}))),
      num_batches_tracked_(register_buffer("num_batches_tracked", torch::tensor(0, torch::kLong))),
      over_(over) {}

at::Tensor BatchNormImpl::forward(const at::Tensor& input) {
  if (is_training()) num_batches_tracked_ += 1;
  if (is_training() && over_ == NormalisedOver::kAllRanks && slipway_size() > 1) return ForwardOverRanks(input);
  return at::batch_norm(input, weight, bias, running_mean_, running_var_, is_training(), kMomentum, kEpsilon,
                        at::globalContext().userEnabledCuDNN());
}

at::Tensor BatchNormImpl::ForwardOverRanks(const at::Tensor& input) {
  const auto moments = MomentsOf(input.detach().to(at::kFloat));
  running_mean_.lerp_(moments.mean, kMomentum);
  running_var_.lerp_(moments.variance * (moments.count / (moments.count - 1)), kMomentum);
  return Normalise::apply(input, weight, bias, moments);
}

}  // namespace trainers
