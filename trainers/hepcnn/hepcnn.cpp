// HEP-CNN: signal or background in calorimeter images. Kurth et al., "Deep learning at 15PF", SC 2017: five
// convolutions with 128 filters, one full layer, 594,178 parameters.

#include <algorithm>
#include <numeric>

#include "trainers/common/classification.h"
#include "trainers/common/layers.h"
#include "trainers/common/trainer_main.h"

namespace {

namespace nn = torch::nn;
namespace staging = slipway::staging;

constexpr std::int64_t kChannels = 3;
constexpr std::int64_t kClasses = 2;

/// Background (0) and signal (1) events by falling score of the signal.
struct Ranked {
  std::vector<bool> is_signal;
  double signal = 0;
  double background = 0;

  Ranked(const at::Tensor& scores, const at::Tensor& labels) {
    const auto order = scores.argsort(/*stable=*/true, /*dim=*/0, /*descending=*/true);
    const auto sorted = labels.index_select(0, order).contiguous();
    is_signal.resize(static_cast<std::size_t>(sorted.size(0)));
    for (std::size_t i = 0; i < is_signal.size(); ++i) is_signal[i] = sorted.data_ptr<std::int64_t>()[i] == 1;
    signal = static_cast<double>(std::ranges::count(is_signal, true));
    background = static_cast<double>(is_signal.size()) - signal;
  }

  /// How often a signal event has the larger score.
  double AreaUnderRoc() const {
    double above = 0;
    double pairs = 0;
    for (const bool hit : is_signal) {
      if (hit)
        ++above;
      else
        pairs += above;
    }
    return pairs / (signal * background);
  }

  /// The share of the signal that a threshold keeps which `rejected` of the background do not pass.
  double SignalEfficiency(double rejected) const {
    const double allowed = (1 - rejected) * background;
    double kept = 0;
    double passed = 0;
    for (const bool hit : is_signal) {
      if (!hit && ++passed > allowed) break;
      if (hit) ++kept;
    }
    return kept / signal;
  }
};

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

  staging::BatchField Input(bool /*training*/) const override {
    const auto side = static_cast<std::uint64_t>(size_);
    return {"image", staging::ElementType::kFloat32, staging::Shape{kChannels, side, side}, {}};
  }
  staging::BatchField Target() const override { return LabelField("label"); }
  std::vector<std::int64_t> InputShape() const override { return {kChannels, size_, size_}; }
  std::int64_t classes() const override { return kClasses; }

  nn::Sequential MakeModel() const override {
    nn::Sequential model(nn::Functional(torch::log1p));  // energies span powers of ten, and are never negative
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
    const Ranked ranked(predictions.select(1, 1), targets);
    return {{"auc", ranked.AreaUnderRoc()}, {"efficiency_at_99", ranked.SignalEfficiency(0.99)}};
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
