#include "trainers/fashion/training.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>

#include "staging/sharding.h"
#include "trainers/fashion/images.h"

namespace fashion {
namespace {

namespace nn = torch::nn;
using slipway::client::Session;
using slipway::client::Tensor;
using slipway::staging::RecordNumbers;

constexpr auto kTeam = "model";
constexpr int kEvaluationBatch = 256;

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

nn::Sequential MakeModel(int channels) {
  const auto convolution = [](int from, int to) { return nn::Conv2d(nn::Conv2dOptions(from, to, 3).padding(1)); };
  return nn::Sequential(convolution(1, channels), nn::ReLU(), nn::MaxPool2d(2),                   //
                        convolution(channels, 2 * channels), nn::ReLU(), nn::MaxPool2d(2),        //
                        nn::Flatten(), nn::Linear(2 * channels * kPixels / 16, 128), nn::ReLU(),  //
                        nn::Linear(128, kClasses));
}

std::unique_ptr<torch::optim::Optimizer> MakeOptimizer(const Arguments& arguments, std::vector<at::Tensor> parameters) {
  if (arguments.optimizer == OptimizerKind::kAdam) {
    return std::make_unique<torch::optim::Adam>(
        parameters, torch::optim::AdamOptions(arguments.lr).weight_decay(arguments.weight_decay));
  }
  return std::make_unique<torch::optim::SGD>(
      parameters,
      torch::optim::SGDOptions(arguments.lr).momentum(arguments.momentum).weight_decay(arguments.weight_decay));
}

/// Sums over images; ranks add theirs up.
struct Sums {
  double loss = 0;
  double correct = 0;
  double images = 0;

  void Add(double batch_loss, const at::Tensor& scores, const at::Tensor& labels) {
    const auto count = static_cast<double>(labels.size(0));
    loss += batch_loss * count;
    correct += scores.argmax(1).eq(labels).sum().item<double>();
    images += count;
  }

  Sums OverRanks(Session& session) const {
    double values[] = {loss, correct, images};
    session.Sum(values);
    return {values[0], values[1], values[2]};
  }
  double MeanLoss() const { return images > 0 ? loss / images : std::nan(""); }
  double Accuracy() const { return images > 0 ? correct / images : std::nan(""); }
};

/// Where the training stands; with the weights and the optimizer it is all that a checkpoint holds, since the order of
/// the images is a function of seed and epoch.
struct Position {
  std::int64_t epoch = 0;
  std::int64_t step_in_epoch = 0;
  std::int64_t step = 0;
  Sums train;  ///< of this epoch so far, over all ranks when read or written
};

class Trainer {
 public:
  Trainer(const Arguments& arguments, const Settings& settings, Session& session)
      : arguments_(arguments), settings_(settings), session_(session), images_(settings.train_data) {
    at::set_num_threads(arguments_.threads);
    torch::manual_seed(static_cast<std::uint64_t>(arguments_.seed));
    SplitRecords();
    ChooseBatch();
    model_ = MakeModel(arguments_.channels);
    optimizer_ = MakeOptimizer(arguments_, model_->parameters());
    ShareParameters();
  }

  void Run() {
    Resume();
    for (; position_.epoch < arguments_.epochs; NextEpoch()) {
      if (!TrainEpoch()) return;
      FinishEpoch();
    }
    session_.CheckMatch(weights_);
    Report("replicas_match", 1);
    Test();
  }

 private:
  bool First() const { return session_.rank() == 0; }

  void Report(const std::string& name, double value) {
    const auto epoch =
        static_cast<double>(position_.epoch) +
        static_cast<double>(position_.step_in_epoch) / static_cast<double>(std::max<std::int64_t>(1, steps_));
    session_.Report(position_.step, epoch, name, value);
  }

  void SplitRecords() {
    auto split = slipway::staging::Split(images_.size(), settings_.validation_fraction, settings_.validation_seed);
    train_ = std::move(split.train);
    validation_ = std::move(split.validation);
    const auto limit = static_cast<std::size_t>(arguments_.train_images);
    if (limit > 0 && limit < train_.size()) train_.resize(limit);
  }

  void ChooseBatch() {
    batch_ = arguments_.batch_size;
    if (arguments_.global_batch_size > 0) {
      if (arguments_.global_batch_size % session_.size() != 0) {
        throw UsageError(fmt::format("--global_batch_size {} does not divide among {} ranks",
                                     arguments_.global_batch_size, session_.size()));
      }
      batch_ = arguments_.global_batch_size / session_.size();
    }
    steps_ = static_cast<std::int64_t>(train_.size()) / (batch_ * session_.size());
    if (steps_ == 0) {
      throw UsageError(fmt::format("{} training images are fewer than one batch of {} on {} ranks", train_.size(),
                                   batch_, session_.size()));
    }
  }

  /// Gradients become views of one buffer, which is registered once and reduced in one piece.
  void ShareParameters() {
    std::int64_t total = 0;
    for (const auto& parameter : model_->parameters()) total += parameter.numel();
    gradients_ = torch::zeros({total});
    std::vector<Tensor> gradients;
    std::int64_t offset = 0;
    for (auto& item : model_->named_parameters()) {
      auto& parameter = item.value();
      parameter.mutable_grad() = gradients_.narrow(0, offset, parameter.numel()).view_as(parameter);
      offset += parameter.numel();
      const auto shape = parameter.sizes().vec();
      gradients.push_back({item.key(), shape, parameter.grad().data_ptr<float>()});
      weights_.push_back({item.key(), shape, parameter.data_ptr<float>()});
    }
    session_.Register(kTeam, gradients, steps_ * arguments_.epochs);
    session_.Broadcast(weights_);
  }

  /// False when the launcher has asked to stop; a checkpoint is written then.
  bool TrainEpoch() {
    const auto order = slipway::staging::EpochOrder(train_, static_cast<std::uint64_t>(arguments_.seed),
                                                    static_cast<std::uint64_t>(position_.epoch));
    const auto mine = slipway::staging::ShardOf(order, session_.rank(), session_.size());
    const auto first_step = position_.step_in_epoch;
    const auto started = std::chrono::steady_clock::now();
    model_->train();
    while (position_.step_in_epoch < steps_) {
      const auto offset = static_cast<std::size_t>(position_.step_in_epoch * batch_);
      Step(std::span(mine).subspan(offset, static_cast<std::size_t>(batch_)));
      if (session_.StopRequested()) {
        Checkpoint();
        if (First()) fmt::print("stopping as asked, after step {}\n", position_.step);
        return false;
      }
      if (CheckpointIsDue()) Checkpoint();
    }
    const auto trained = static_cast<double>((steps_ - first_step) * batch_ * session_.size());
    images_per_second_ = trained / SecondsSince(started);
    return true;
  }

  void Step(std::span<const std::uint64_t> records) {
    const auto [pixels, labels] = Batch(records);
    gradients_.zero_();
    const auto scores = model_->forward(pixels);
    const auto loss = nn::functional::cross_entropy(scores, labels);
    const auto value = loss.item<double>();
    if (!std::isfinite(value)) {
      throw std::runtime_error(fmt::format("the loss is {} at step {} on rank {}: try a smaller learning rate than {}",
                                           value, position_.step, session_.rank(), arguments_.lr));
    }
    loss.backward();
    session_.Gradients(kTeam);
    optimizer_->step();
    train_sums_.Add(value, scores.detach(), labels);
    ++position_.step;
    ++position_.step_in_epoch;
    ReportNowAndThen(value);
  }

  void ReportNowAndThen(double loss) {
    if (!First() || SecondsSince(reported_) < 1) return;
    reported_ = std::chrono::steady_clock::now();
    Report("train_loss", loss);
  }

  std::pair<at::Tensor, at::Tensor> Batch(std::span<const std::uint64_t> records) const {
    const auto count = static_cast<std::int64_t>(records.size());
    auto pixels = torch::empty({count, 1, kSide, kSide});
    auto labels = torch::empty({count}, torch::kInt64);
    images_.Fill(records, {pixels.data_ptr<float>(), records.size() * kPixels},
                 {labels.data_ptr<std::int64_t>(), records.size()});
    return {pixels, labels};
  }

  void FinishEpoch() {
    const auto train = train_sums_.OverRanks(session_);
    const auto validation = Evaluate(images_, validation_);
    Report("train_loss", train.MeanLoss());
    Report("train_accuracy", train.Accuracy());
    if (!validation_.empty()) {
      Report("validation_loss", validation.MeanLoss());
      Report("validation_accuracy", validation.Accuracy());
    }
    Report("images_per_second", images_per_second_);
    if (First()) {
      fmt::print("epoch {}  loss {:.4f}  accuracy {:.4f}  validation accuracy {:.4f}  {:.0f} images/s\n",
                 position_.epoch + 1, train.MeanLoss(), train.Accuracy(), validation.Accuracy(), images_per_second_);
      std::fflush(stdout);
    }
  }

  void NextEpoch() {
    ++position_.epoch;
    position_.step_in_epoch = 0;
    train_sums_ = {};
    Checkpoint();
  }

  /// Each rank takes every P-th record; all records count once.
  Sums Evaluate(const Images& images, const RecordNumbers& records) {
    const torch::NoGradGuard no_gradients;
    model_->eval();
    RecordNumbers mine;
    for (auto i = static_cast<std::size_t>(session_.rank()); i < records.size();
         i += static_cast<std::size_t>(session_.size())) {
      mine.push_back(records[i]);
    }
    Sums sums;
    for (std::size_t at = 0; at < mine.size(); at += kEvaluationBatch) {
      const auto part = std::span(mine).subspan(at, std::min<std::size_t>(kEvaluationBatch, mine.size() - at));
      auto pixels = torch::empty({static_cast<std::int64_t>(part.size()), 1, kSide, kSide});
      auto labels = torch::empty({static_cast<std::int64_t>(part.size())}, torch::kInt64);
      images.Fill(part, {pixels.data_ptr<float>(), part.size() * kPixels},
                  {labels.data_ptr<std::int64_t>(), part.size()});
      const auto scores = model_->forward(pixels);
      sums.Add(nn::functional::cross_entropy(scores, labels).item<double>(), scores, labels);
    }
    return sums.OverRanks(session_);
  }

  void Test() {
    if (!settings_.test_data) return;
    const Images images(*settings_.test_data);
    RecordNumbers records(images.size());
    for (std::size_t i = 0; i < records.size(); ++i) records[i] = i;
    const auto test = Evaluate(images, records);
    Report("test_loss", test.MeanLoss());
    Report("test_accuracy", test.Accuracy());
    if (First()) fmt::print("test accuracy {:.4f}\n", test.Accuracy());
  }

  /// The first rank's clock decides for all.
  bool CheckpointIsDue() {
    if (!settings_.checkpoint_every_s || !settings_.checkpoints) return false;
    double due[] = {First() && SecondsSince(checkpointed_) >= *settings_.checkpoint_every_s ? 1.0 : 0.0};
    session_.Sum(due);
    return due[0] > 0;
  }

  void Checkpoint() {
    if (!settings_.checkpoints) return;
    position_.train = train_sums_.OverRanks(session_);
    const std::filesystem::path directory = session_.BeginCheckpoint(position_.step);
    if (First()) Write(directory);
    session_.CommitCheckpoint(position_.step, static_cast<double>(position_.epoch));
    checkpointed_ = std::chrono::steady_clock::now();
  }

  void Write(const std::filesystem::path& directory) {
    torch::save(model_, directory / "model.pt");
    torch::save(*optimizer_, directory / "optimizer.pt");
    std::ofstream file(directory / "position.txt");
    file.precision(17);
    file << position_.epoch << ' ' << position_.step_in_epoch << ' ' << position_.step << ' ' << position_.train.loss
         << ' ' << position_.train.correct << ' ' << position_.train.images << ' ' << batch_ * session_.size() << '\n';
    if (!file.flush()) throw std::runtime_error("cannot write the checkpoint in " + directory.string());
  }

  void Resume() {
    const std::filesystem::path directory = session_.ResumeFrom();
    if (directory.empty()) return;
    try {
      torch::load(model_, directory / "model.pt");
      torch::load(*optimizer_, directory / "optimizer.pt");
    } catch (const c10::Error& error) {
      throw std::runtime_error("the checkpoint in " + directory.string() +
                               " is of another model or optimizer: " + error.what_without_backtrace());
    }
    ReadPosition(directory / "position.txt");
    // Loading may have replaced the memory that the runtime knows.
    session_.CheckMatch(weights_);
    if (First()) fmt::print("continuing at epoch {}, step {}\n", position_.epoch + 1, position_.step);
  }

  void ReadPosition(const std::filesystem::path& path) {
    std::ifstream file(path);
    auto& train = position_.train;
    int global_batch = 0;
    file >> position_.epoch >> position_.step_in_epoch >> position_.step >> train.loss >> train.correct >>
        train.images >> global_batch;
    if (!file) throw std::runtime_error(path.string() + " is damaged");
    if (global_batch != batch_ * session_.size()) {
      throw std::runtime_error(
          fmt::format("the checkpoint was made with {} images per step over all ranks, now there are {}: "
                      "set global_batch_size to {}",
                      global_batch, batch_ * session_.size(), global_batch));
    }
    if (First()) train_sums_ = train;
  }

  const Arguments& arguments_;
  const Settings& settings_;
  Session& session_;
  Images images_;
  RecordNumbers train_;
  RecordNumbers validation_;
  int batch_ = 0;           ///< images per rank and step
  std::int64_t steps_ = 0;  ///< per epoch
  nn::Sequential model_{nullptr};
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
  at::Tensor gradients_;  ///< all of them, one behind the other
  std::vector<Tensor> weights_;
  Position position_;
  Sums train_sums_;  ///< of this rank, in this epoch
  double images_per_second_ = 0;
  std::chrono::steady_clock::time_point reported_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point checkpointed_ = std::chrono::steady_clock::now();
};

}  // namespace

void Train(const Arguments& arguments, const Settings& settings, Session& session) {
  Trainer(arguments, settings, session).Run();
}

}  // namespace fashion
