// A small convolutional network on Fashion-MNIST.

#include "trainers/common/classification.h"
#include "trainers/common/trainer_main.h"

namespace {

namespace nn = torch::nn;
namespace staging = slipway::staging;

constexpr int kSide = 28;
constexpr int kClasses = 10;

nn::Conv2d Convolution(std::int64_t from, std::int64_t to) {
  return nn::Conv2d(nn::Conv2dOptions(from, to, 3).padding(1));
}

class Fashion final : public trainers::Classification {
 public:
  std::string_view name() const override { return "fashion"; }
  std::string_view about() const override {
    return "trains a small convolutional network on Fashion-MNIST, data-parallel over the ranks of a job.";
  }
  std::string_view records() const override { return "images"; }

  void Describe(trainers::OptionList& options, trainers::Arguments& /*arguments*/) override {
    options.AddInt("channels", "of the first convolution; the second has twice as many (32)", channels_, 1, 4096);
  }

  staging::BatchField Input(bool /*training*/) const override {
    return {"image", {}, staging::Shape{kSide, kSide}, {staging::Normalise{{0}, {1}, 1.0F / 255}}};
  }
  std::vector<std::int64_t> InputShape() const override { return {1, kSide, kSide}; }
  staging::BatchField Target() const override { return LabelField("label"); }
  std::int64_t classes() const override { return kClasses; }

  /// Two convolutions with pooling, two full layers; scores of the classes.
  nn::Sequential MakeModel() const override {
    return nn::Sequential{Convolution(1, channels_), nn::ReLU(), nn::MaxPool2d(2),                         //
                          Convolution(channels_, 2 * channels_), nn::ReLU(), nn::MaxPool2d(2),             //
                          nn::Flatten(), nn::Linear(2 * channels_ * kSide * kSide / 16, 128), nn::ReLU(),  //
                          nn::Linear(128, kClasses)};
  }
  std::map<std::string, std::string> Shape() const override { return {{"channels", std::to_string(channels_)}}; }

 private:
  std::int64_t channels_ = 32;
};

}  // namespace

int main(int argc, char** argv) {
  Fashion task;
  return trainers::TrainerMain(task, argc, argv);
}
