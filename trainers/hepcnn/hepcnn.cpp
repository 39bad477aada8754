// HEP-CNN: signal or background in calorimeter images. Kurth et al., "Deep learning at 15PF", SC 2017: five
// convolutions with 128 filters, one full layer, 594,178 parameters.

#include <fmt/format.h>

#include <bit>
#include <span>
#include <vector>

#include "trainers/common/classification.h"
#include "trainers/common/layers.h"
#include "trainers/common/trainer_main.h"
#include "trainers/common/usage_error.h"

namespace {

namespace nn = torch::nn;
namespace staging = slipway::staging;

constexpr std::int64_t kChannels = 3;
constexpr std::int64_t kClasses = 2;

/// Events of one score. They pass a threshold together or not at all.
struct Tied {
  double signal = 0;
  double background = 0;
};

/// By falling score. `labels`: 1 = signal.
std::vector<Tied> Ranked(const at::Tensor& scores, const at::Tensor& labels) {
  const auto order = scores.argsort(/*stable=*/true, /*dim=*/0, /*descending=*/true);
  const auto sorted = scores.index_select(0, order).contiguous();
  const auto is_signal = labels.index_select(0, order).contiguous();
  const std::span score(sorted.data_ptr<float>(), static_cast<std::size_t>(sorted.size(0)));
  std::vector<Tied> ranked;
  for (std::size_t i = 0; i < score.size(); ++i) {
    if (i == 0 || score[i] != score[i - 1]) ranked.emplace_back();
    ++(is_signal.data_ptr<std::int64_t>()[i] == 1 ? ranked.back().signal : ranked.back().background);
  }
  return ranked;
}

Tied InAll(const std::vector<Tied>& ranked) {
  Tied all;
  for (const auto& tied : ranked) {
    all.signal += tied.signal;
    all.background += tied.background;
  }
  return all;
}

/// How often a signal event has the larger score than one of the background; equal scores count half.
double AreaUnderRoc(const std::vector<Tied>& ranked) {
  double above = 0;
  double pairs = 0;
  for (const auto& tied : ranked) {
    pairs += tied.background * (above + tied.signal / 2);
    above += tied.signal;
  }
  const auto all = InAll(ranked);
  return pairs / (all.signal * all.background);
}

/// The share of the signal that a threshold keeps which `rejected` of the background do not pass.
double SignalEfficiency(const std::vector<Tied>& ranked, double rejected) {
  const auto all = InAll(ranked);
  const double allowed = (1 - rejected) * all.background;
  Tied passed;
  for (const auto& tied : ranked) {
    if (passed.background + tied.background > allowed) break;
    passed.signal += tied.signal;
    passed.background += tied.background;
  }
  return passed.signal / all.signal;
}

class Hepcnn final : public trainers::Classification {
 public:
  std::string_view name() const override { return "hepcnn"; }
  std::string_view about() const override {
    return "tells signal from background in calorimeter images, data-parallel over the ranks of a job.";
  }
  std::string_view records() const override { return "images"; }

  void Describe(trainers::OptionList& options, trainers::Arguments& arguments) override {
    arguments.usual_batch_size = 16;
    options.AddInt("size", "pixels of a side (64)", size_, 16, 4096);
    options.AddInt("filters", "of each convolution (128)", filters_, 1, 4096);
    options.AddInt("units", "convolutions, all but the last followed by pooling (5)", units_, 1, 8);
  }

  void CheckOptions() const override {
    const std::int64_t most = std::bit_width(static_cast<std::uint64_t>(size_));
    if (units_ <= most) return;
    throw trainers::UsageError(fmt::format(
        "--units {} halves the picture {} times, and --size {} has not so many pixels: give at most --units {}", units_,
        units_ - 1, size_, most));
  }

  staging::BatchField Input(bool /*training*/) const override {
    const auto side = static_cast<std::uint64_t>(size_);
    return {"image", staging::ElementType::kFloat32, staging::Shape{kChannels, side, side}, {}};
  }
  staging::BatchField Target() const override { return LabelField("label"); }
  std::vector<std::int64_t> InputShape() const override { return {kChannels, size_, size_}; }
  /// Energies span powers of ten, and are never negative.
  at::Tensor Prepared(const at::Tensor& input) const override { return torch::log1p(input); }
  std::int64_t classes() const override { return kClasses; }

  nn::Sequential MakeModel() const override {
    nn::Sequential model(nn::Functional(torch::log1p));
    for (std::int64_t unit = 0; unit < units_; ++unit) {
      model->push_back(nn::Conv2d(nn::Conv2dOptions(unit == 0 ? kChannels : filters_, filters_, 3).padding(1)));
      model->push_back(nn::ReLU());
      if (unit + 1 < units_) model->push_back(nn::MaxPool2d(2));
    }
    model->push_back(nn::AdaptiveAvgPool2d(1));
    model->push_back(nn::Flatten());
    model->push_back(nn::Linear(filters_, kClasses));
    trainers::DrawWeights(model, 0);
    return model;
  }
  std::map<std::string, std::string> Shape() const override {
    return {{"filters", std::to_string(filters_)}, {"units", std::to_string(units_)}};
  }

  bool measures_all() const override { return true; }
  trainers::NamedValues OfAll(const at::Tensor& predictions, const at::Tensor& targets) const override {
    const auto ranked = Ranked(predictions.select(1, 1), targets);
    return {{"auc", AreaUnderRoc(ranked)}, {"efficiency_at_99", SignalEfficiency(ranked, 0.99)}};
  }

 private:
  std::int64_t size_ = 64;
  std::int64_t filters_ = 128;
  std::int64_t units_ = 5;
};

}  // namespace

int main(int argc, char** argv) {
  Hepcnn task;
  return trainers::TrainerMain(task, argc, argv);
}
