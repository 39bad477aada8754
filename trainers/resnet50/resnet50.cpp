// ResNet-50, He et al., "Deep residual learning for image recognition", CVPR 2016, with the stride in the 3x3
// convolution: 25,557,032 parameters for 1000 classes. Records like those of ImageNet.

#include "trainers/common/classification.h"
#include "trainers/common/sync_batch_norm.h"
#include "trainers/common/trainer_main.h"

namespace {

namespace nn = torch::nn;
namespace staging = slipway::staging;
using trainers::BatchNorm;
using trainers::NormalisedOver;

constexpr std::int64_t kExpansion = 4;
constexpr std::int64_t kBest = 5;

nn::Conv2d Convolution(std::int64_t from, std::int64_t to, std::int64_t kernel, std::int64_t stride) {
  return nn::Conv2d(nn::Conv2dOptions(from, to, kernel).stride(stride).padding(kernel / 2).bias(false));
}

/// 1x1, 3x3, 1x1, and what came in beside it. The last normalisation begins at 0, so that a block begins as what passes
/// it (Goyal et al. 2017).
struct BottleneckImpl : nn::Module {
  BottleneckImpl(std::int64_t from, std::int64_t width, std::int64_t stride, NormalisedOver over)
      : body{Convolution(from, width, 1, 1),
             BatchNorm(width, over),
             nn::ReLU(),  //
             Convolution(width, width, 3, stride),
             BatchNorm(width, over),
             nn::ReLU(),  //
             Convolution(width, width * kExpansion, 1, 1),
             BatchNorm(width * kExpansion, over)} {
    register_module("body", body);
    nn::init::zeros_(body[7]->as<BatchNorm>()->weight);
    if (stride == 1 && from == width * kExpansion) return;
    beside = nn::Sequential{Convolution(from, width * kExpansion, 1, stride), BatchNorm(width * kExpansion, over)};
    register_module("beside", beside);
  }

  at::Tensor forward(const at::Tensor& input) {
    return torch::relu(body->forward(input) + (beside.is_empty() ? input : beside->forward(input)));
  }

  nn::Sequential body;
  nn::Sequential beside{nullptr};
};
TORCH_MODULE(Bottleneck);

class Resnet50 final : public trainers::Classification {
 public:
  std::string_view name() const override { return "resnet50"; }
  std::string_view about() const override {
    return "trains ResNet-50 on pictures, data-parallel over the ranks of a job.";
  }
  std::string_view records() const override { return "images"; }

  void Describe(trainers::OptionList& options, trainers::Arguments& arguments) override {
    arguments.usual_batch_size = 8;
    arguments.optimizer = "sgd";
    arguments.rate = {0.1, "linear", 256, 0, "constant"};
    arguments.weight_decay = 1e-4;
    options.AddInt("size", "pixels of a side (224)", size_, 32, 1024);
    options.AddInt("classes", "how many (1000)", classes_, 2, 1'000'000);
    options.AddInt("first_label", "the number of the first class: 1 in the TFRecords of ImageNet (1)", first_label_, 0,
                   1);
    options.AddInt("width", "filters of the first block (64)", width_, 1, 512);
    options.AddNumber("least_area", "of a picture that training sees at random, as a part of it (0.08)", least_area_,
                      0.01, 1);
    options.AddInt("sync_batch_norm", "1: normalise by the batches of all ranks together; 0: each rank its own (0)",
                   sync_batch_norm_, 0, 1);
  }

  /// Training: random parts, mirrored; evaluation: the middle of the picture.
  staging::BatchField Input(bool training) const override {
    const auto side = static_cast<std::uint64_t>(size_);
    std::vector<staging::Transform> transforms = {staging::DecodeJpeg{3}};
    if (training) {
      transforms.emplace_back(staging::RandomResizedCrop{{side, side}, {least_area_, 1}});
      transforms.emplace_back(staging::Flip{});
    } else {
      transforms.emplace_back(staging::Resize{{}, side * 8 / 7});
      transforms.emplace_back(staging::Crop{{side, side}});
    }
    transforms.emplace_back(staging::Normalise{{0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F}, 1.0F / 255});
    transforms.emplace_back(staging::ChannelsFirst{});
    return {"image/encoded", {}, {}, std::move(transforms)};
  }
  staging::BatchField Target() const override { return LabelField("image/class/label"); }
  std::vector<std::int64_t> InputShape() const override { return {3, size_, size_}; }
  std::int64_t classes() const override { return classes_; }
  std::int64_t first_label() const override { return first_label_; }

  nn::Sequential MakeModel() const override {
    const auto over = sync_batch_norm_ != 0 ? NormalisedOver::kAllRanks : NormalisedOver::kRank;
    nn::Sequential model(Convolution(3, width_, 7, 2), BatchNorm(width_, over), nn::ReLU(),
                         nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(2).padding(1)));
    auto channels = width_;
    auto width = width_;
    for (const int blocks : {3, 4, 6, 3}) {
      for (int block = 0; block < blocks; ++block) {
        model->push_back(Bottleneck(channels, width, block == 0 && width > width_ ? 2 : 1, over));
        channels = width * kExpansion;
      }
      width *= 2;
    }
    model->push_back(nn::AdaptiveAvgPool2d(1));
    model->push_back(nn::Flatten());
    model->push_back(nn::Linear(channels, classes_));
    return model;
  }
  std::map<std::string, std::string> Shape() const override {
    return {{"classes", std::to_string(classes_)}, {"width", std::to_string(width_)}};
  }

  /// Among five classes or fewer the right one is always one of the first five.
  std::vector<std::string> MeasureNames() const override {
    return classes_ > kBest ? std::vector<std::string>{"accuracy", "top5_accuracy"}
                            : std::vector<std::string>{"accuracy"};
  }
  std::vector<double> Measures(const at::Tensor& outputs, const at::Tensor& targets) const override {
    if (classes_ <= kBest) return Classification::Measures(outputs, targets);
    const auto hits = std::get<1>(outputs.topk(kBest, 1)).eq((targets - first_label_).unsqueeze(1));
    return {hits.select(1, 0).sum().item<double>(), hits.sum().item<double>()};
  }

 private:
  std::int64_t size_ = 224;
  std::int64_t classes_ = 1000;
  std::int64_t first_label_ = 1;
  std::int64_t width_ = 64;
  double least_area_ = 0.08;
  std::int64_t sync_batch_norm_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  Resnet50 task;
  return trainers::TrainerMain(task, argc, argv);
}
