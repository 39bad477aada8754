#include "trainers/common/replica.h"

#include <fmt/format.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/torch.h>

#include <exception>
#include <stdexcept>
#include <utility>

#include "trainers/common/torch_files.h"

namespace trainers {
namespace {

using slipway::client::Check;
using slipway::client::Tensor;

constexpr auto kTeam = "model";

/// Runs when the gradient of a parameter is final.
struct OnGradient final : torch::autograd::FunctionPostHook {
  explicit OnGradient(std::function<void()> on_gradient) : action(std::move(on_gradient)) {}
  torch::autograd::variable_list operator()(const torch::autograd::variable_list& outputs,
                                            const torch::autograd::variable_list& /*inputs*/) override {
    action();
    return outputs;
  }
  std::function<void()> action;
};

at::Tensor SharedZeros(std::int64_t count, at::Device device) {
  if (!device.is_cpu()) return torch::zeros({count}, device);
  void* memory = nullptr;
  Check(slipway_alloc(count * static_cast<std::int64_t>(sizeof(float)), &memory));
  return torch::from_blob(memory, {count});
}

Tensor Described(const std::string& name, const at::Tensor& tensor) {
  return {name, tensor.sizes().vec(), tensor.data_ptr<float>()};
}

}  // namespace

Replica::Replica(const Task& task, slipway::client::Session& session, std::int64_t total_steps, at::Device device)
    : task_(task),
      session_(session),
      model_(std::make_unique<torch::nn::Sequential>(task.MakeModel())),
      batch_(device.is_cpu() ? 1 : GradientBatch::kMostBytesOnGpu,
             [&session](std::span<const int> indices) { session.Submit(kTeam, indices); }) {
  (*model_)->to(device);
  LayOutGradients(device);
  for (const auto& item : (*model_)->named_buffers()) {
    if (item.value().scalar_type() == torch::kFloat32) buffers_.push_back(Described(item.key(), item.value()));
  }
  session_.Register(kTeam, gradient_list_, total_steps);
  session_.Broadcast(weights_);
  SubmitWhenReady();
}

/// When an exception ends the training other ranks may be waiting for this one: the team stays, and its memory.
Replica::~Replica() {
  if (std::uncaught_exceptions() != exceptions_) return;
  slipway_unregister(kTeam);
  if (gradients_.is_cpu()) slipway_free(gradients_.data_ptr());
}

std::vector<at::Tensor> Replica::parameters() const { return (*model_)->parameters(); }

std::vector<at::Tensor> Replica::Weights() const {
  auto weights = parameters();
  for (const auto& buffer : (*model_)->buffers()) {
    if (buffer.scalar_type() == torch::kFloat32) weights.push_back(buffer);
  }
  return weights;
}

at::Tensor Replica::Forward(const at::Tensor& input) { return (*model_)->forward(input); }
void Replica::Train() { (*model_)->train(); }

void Replica::LayOutGradients(at::Device device) {
  std::int64_t total = 0;
  for (const auto& parameter : parameters()) total += parameter.numel();
  gradients_ = SharedZeros(total, device);
  std::int64_t offset = 0;
  for (auto& item : (*model_)->named_parameters()) {
    auto& parameter = item.value();
    parameter.mutable_grad() = gradients_.narrow(0, offset, parameter.numel()).view_as(parameter);
    offset += parameter.numel();
    gradient_list_.push_back(Described(item.key(), parameter.grad()));
    weights_.push_back(Described(item.key(), parameter));
  }
}

void Replica::SubmitWhenReady() {
  int index = 0;
  for (const auto& parameter : parameters()) {
    auto accumulator = torch::autograd::impl::grad_accumulator(parameter);
    const auto bytes = static_cast<std::int64_t>(parameter.nbytes());
    accumulator->add_post_hook(std::make_unique<OnGradient>([this, index, bytes] { batch_.Add(index, bytes); }));
    accumulators_.push_back(std::move(accumulator));
    ++index;
  }
}

/// Guards against a libtorch that gives a parameter a gradient of its own. The exchange would then use memory that is
/// never written, and the replicas would drift apart.
void Replica::RequireGradientsInPlace() const {
  auto expected = gradient_list_.begin();
  for (const auto& parameter : parameters()) {
    if (parameter.grad().data_ptr<float>() != expected->data) {
      throw std::logic_error("libtorch has moved the gradient of '" + expected->name + "'");
    }
    ++expected;
  }
}

bool Replica::BackwardAndExchange(const at::Tensor& loss) {
  if (clear_) gradients_.zero_();
  loss.backward();
  batch_.HandOver();
  session_.Wait(kTeam);  // on the legacy default stream, which is libtorch's: trainers compute on no other
  RequireGradientsInPlace();
  int delivered = 0;
  Check(slipway_delivered(kTeam, &delivered));
  clear_ = delivered != 0;
  return clear_;
}

bool Replica::Unscale(double factor) {
  gradients_.mul_(1 / factor);
  return gradients_.isfinite().all().item<bool>();
}

void Replica::Evaluate() {
  if (!buffers_.empty()) session_.Broadcast(buffers_);
  (*model_)->eval();
}

std::string Replica::NotFinite() const {
  for (const auto& item : (*model_)->named_parameters()) {
    if (!item.value().isfinite().all().item<bool>()) return item.key();
  }
  return {};
}

std::vector<char> Replica::ExchangeState() {
  std::size_t size = 0;
  Check(slipway_state_save(kTeam, nullptr, &size));
  std::vector<char> state(size);
  Check(slipway_state_save(kTeam, state.data(), &size));
  return state;
}

void Replica::RestoreExchange(const std::vector<char>& state) {
  Check(slipway_state_load(kTeam, state.data(), state.size()));
}

void Replica::Save(const std::filesystem::path& file) const { torch::save(*model_, file.string()); }

/// Copies into the existing weights. torch::load alone would give the model other memory than the runtime has
/// registered, and would accept other shapes.
void Replica::Load(const std::filesystem::path& file) {
  auto saved = task_.MakeModel();
  LoadFile(saved, file);
  const torch::NoGradGuard no_gradients;
  const auto copy = [&](auto& ours, const auto& theirs) {
    for (auto& item : ours) {
      const auto* source = theirs.find(item.key());
      if (source == nullptr || source->sizes() != item.value().sizes()) {
        throw std::runtime_error(fmt::format("the checkpoint's '{}' is of another model: the shape of '{}' differs",
                                             file.string(), item.key()));
      }
      item.value().copy_(*source);
    }
  };
  auto weights = (*model_)->named_parameters();
  copy(weights, saved->named_parameters());
  auto buffers = (*model_)->named_buffers();
  copy(buffers, saved->named_buffers());
}

}  // namespace trainers
