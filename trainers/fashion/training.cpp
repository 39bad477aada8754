#include "trainers/fashion/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "staging/reader/sharding.h"
#include "trainers/fashion/images.h"
#include "trainers/fashion/model.h"
#include "trainers/fashion/predictions.h"
#include "trainers/fashion/progress.h"

namespace fashion {
namespace {

using slipway::client::Session;
using slipway::client::Tensor;
using slipway::staging::RecordNumbers;

constexpr auto kTeam = "model";
constexpr int kEvaluationBatch = 256;

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Adds one batch.
void Add(Sums& sums, double batch_loss, const at::Tensor& scores, const at::Tensor& labels) {
  const auto count = static_cast<double>(labels.size(0));
  sums.loss += batch_loss * count;
  sums.correct += scores.argmax(1).eq(labels).sum().item<double>();
  sums.images += count;
}

Sums OverRanks(const Sums& sums, Session& session) {
  double values[] = {sums.loss, sums.correct, sums.images};
  session.Sum(values);
  return {values[0], values[1], values[2]};
}

RecordNumbers AllRecords(const Images& images) {
  RecordNumbers records(images.size());
  std::iota(records.begin(), records.end(), std::uint64_t{0});
  return records;
}

class Trainer {
 public:
  Trainer(const Arguments& arguments, const Settings& settings, Session& session)
      : arguments_(arguments), settings_(settings), session_(session), images_(settings.train_data) {
    // Before any training: a test set that cannot be read should not cost hours.
    if (settings.test_data) test_images_.emplace(*settings.test_data);
    at::set_num_threads(arguments_.threads);
    torch::manual_seed(static_cast<std::uint64_t>(arguments_.seed));
    SplitRecords();
    ChooseBatch();
    model_ = MakeModel(arguments_.channels);
    optimizer_ = MakeOptimizer(arguments_, model_->parameters());
    ShareParameters();
  }

  Ending Run() {
    Resume();
    if (First()) PrintStart();
    // A trial that begins with the weights of one that was done has nothing to train, but a value all the same.
    if (progress_.epoch >= arguments_.epochs) Validate();
    while (progress_.epoch < arguments_.epochs) {
      if (!TrainEpoch()) return Ending::kDone;
      FinishEpoch();
      NextEpoch();
      if (IsAtLimit()) return Ending::kAtLimit;
    }
    session_.CheckMatch(weights_);
    Report("replicas_match", 1);
    Test();
    return Ending::kDone;
  }

 private:
  bool First() const { return session_.rank() == 0; }

  void PrintStart() const {
    fmt::print("{} training and {} validation images, {} a step on {} {}, {} with lr {}\n", train_.size(),
               validation_.size(), batch_ * session_.size(), session_.size(), session_.size() == 1 ? "rank" : "ranks",
               OptimizerName(arguments_.optimizer), arguments_.lr);
    std::fflush(stdout);
  }

  void Report(const std::string& name, double value) {
    const auto epoch =
        static_cast<double>(progress_.epoch) +
        static_cast<double>(progress_.step_in_epoch) / static_cast<double>(std::max<std::int64_t>(1, steps_));
    session_.Report(progress_.step, epoch, name, value);
  }

  void SplitRecords() {
    auto split = slipway::staging::Split(images_.size(), settings_.validation_fraction, settings_.validation_seed);
    train_ = std::move(split.train);
    validation_ = std::move(split.validation);
    const auto limit = static_cast<std::size_t>(arguments_.train_images);
    if (limit > 0 && limit < train_.size()) train_.resize(limit);
  }

  void ChooseBatch() {
    batch_ = arguments_.batch_size > 0 ? arguments_.batch_size : kBatchSize;
    if (arguments_.global_batch_size > 0) {
      if (arguments_.batch_size > 0) {
        throw UsageError("--batch_size is per rank, --global_batch_size over all ranks: give one of them");
      }
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
    std::int64_t offset = 0;
    for (auto& item : model_->named_parameters()) {
      auto& parameter = item.value();
      parameter.mutable_grad() = gradients_.narrow(0, offset, parameter.numel()).view_as(parameter);
      offset += parameter.numel();
      const auto shape = parameter.sizes().vec();
      gradient_list_.push_back({item.key(), shape, parameter.grad().data_ptr<float>()});
      weights_.push_back({item.key(), shape, parameter.data_ptr<float>()});
    }
    session_.Register(kTeam, gradient_list_, steps_ * arguments_.epochs);
    session_.Broadcast(weights_);
  }

  /// Guards against a libtorch that gives a parameter a gradient of its own: the exchange would go on with memory that
  /// nobody writes, and the replicas drift apart.
  void RequireGradientsInPlace() const {
    auto expected = gradient_list_.begin();
    for (const auto& parameter : model_->parameters()) {
      if (parameter.grad().data_ptr<float>() != expected->data) {
        throw std::logic_error("libtorch has moved the gradient of '" + expected->name + "'");
      }
      ++expected;
    }
  }

  /// False when the launcher has asked to stop; a checkpoint is written then.
  bool TrainEpoch() {
    const auto order = slipway::staging::EpochOrder(train_, static_cast<std::uint64_t>(arguments_.seed),
                                                    static_cast<std::uint64_t>(progress_.epoch));
    const auto mine = slipway::staging::ShardOf(order, session_.rank(), session_.size());
    const auto first_step = progress_.step_in_epoch;
    const auto started = std::chrono::steady_clock::now();
    model_->train();
    while (progress_.step_in_epoch < steps_) {
      const auto offset = static_cast<std::size_t>(progress_.step_in_epoch * batch_);
      Step(std::span(mine).subspan(offset, static_cast<std::size_t>(batch_)));
      if (session_.StopRequested()) {
        Checkpoint();
        if (First()) fmt::print("stopping as asked, after step {}\n", progress_.step);
        return false;
      }
      if (CheckpointIsDue()) Checkpoint();
    }
    const auto trained = static_cast<double>((steps_ - first_step) * batch_ * session_.size());
    images_per_second_ = trained > 0 ? trained / SecondsSince(started) : std::nan("");
    return true;
  }

  void Step(std::span<const std::uint64_t> records) {
    const auto [pixels, labels] = Batch(images_, records);
    gradients_.zero_();
    const auto scores = model_->forward(pixels);
    const auto loss = torch::nn::functional::cross_entropy(scores, labels);
    const auto value = loss.item<double>();
    if (!std::isfinite(value)) {
      throw std::runtime_error(fmt::format("the loss is {} at step {} on rank {}: try a smaller learning rate than {}",
                                           value, progress_.step, session_.rank(), arguments_.lr));
    }
    loss.backward();
    RequireGradientsInPlace();
    session_.Gradients(kTeam);
    optimizer_->step();
    Add(train_sums_, value, scores.detach(), labels);
    ++progress_.step;
    ++progress_.step_in_epoch;
    ReportNowAndThen(value);
  }

  void ReportNowAndThen(double loss) {
    if (!First() || SecondsSince(reported_) < 1) return;
    reported_ = std::chrono::steady_clock::now();
    Report("train_loss", loss);
  }

  static std::pair<at::Tensor, at::Tensor> Batch(const Images& images, std::span<const std::uint64_t> records) {
    const auto count = static_cast<std::int64_t>(records.size());
    auto pixels = torch::empty({count, 1, kSide, kSide});
    auto labels = torch::empty({count}, torch::kInt64);
    images.Fill(records, {pixels.data_ptr<float>(), records.size() * kPixels},
                {labels.data_ptr<std::int64_t>(), records.size()});
    return {pixels, labels};
  }

  void FinishEpoch() {
    const auto train = OverRanks(train_sums_, session_);
    Report("train_loss", train.MeanLoss());
    Report("train_accuracy", train.Accuracy());
    const auto validation = Validate();
    if (std::isfinite(images_per_second_)) Report("images_per_second", images_per_second_);
    if (First()) PrintEpoch(train, validation);
  }

  Sums Validate() {
    std::vector<double> outputs(WantsPredictions() ? validation_.size() * kClasses : 0);
    const auto validation = Evaluate(images_, validation_, outputs);
    if (!validation_.empty()) {
      Report("validation_loss", validation.MeanLoss());
      Report("validation_accuracy", validation.Accuracy());
    }
    if (!outputs.empty()) KeepPredictions(outputs);
    return validation;
  }

  /// After the last epoch: those of the network that the last reported values are of.
  bool WantsPredictions() const {
    return arguments_.predictions != 0 && !settings_.run_folder.empty() && progress_.epoch + 1 >= arguments_.epochs;
  }

  /// `outputs`: a row for each validation image, filled by one rank, 0 on the others.
  void KeepPredictions(std::span<double> outputs) {
    session_.Sum(outputs);
    if (First()) WritePredictions(settings_.run_folder, images_, validation_, outputs);
  }

  void PrintEpoch(const Sums& train, const Sums& validation) const {
    fmt::print("epoch {}  loss {:.4f}  accuracy {:.4f}", progress_.epoch + 1, train.MeanLoss(), train.Accuracy());
    if (!validation_.empty()) fmt::print("  validation accuracy {:.4f}", validation.Accuracy());
    if (std::isfinite(images_per_second_)) fmt::print("  {:.0f} images/s", images_per_second_);
    fmt::print("\n");
    std::fflush(stdout);
  }

  void NextEpoch() {
    ++progress_.epoch;
    progress_.step_in_epoch = 0;
    train_sums_ = {};
    Checkpoint();
  }

  /// Only where there is something to go on with, and a checkpoint to go on from.
  bool IsAtLimit() const {
    if (!settings_.limit || !settings_.checkpoints || progress_.epoch >= arguments_.epochs) return false;
    const bool at_limit = (settings_.resource == "epoch" && static_cast<double>(progress_.epoch) >= *settings_.limit) ||
                          (settings_.resource == "step" && static_cast<double>(progress_.step) >= *settings_.limit);
    if (at_limit && First()) fmt::print("ending at the limit of {} {}\n", settings_.resource, *settings_.limit);
    return at_limit;
  }

  /// Each rank takes every P-th record; all records count once. `outputs`, unless it is empty, gets the probabilities
  /// of this rank's records in their rows.
  Sums Evaluate(const Images& images, const RecordNumbers& records, std::span<double> outputs = {}) {
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
      const auto [pixels, labels] = Batch(images, part);
      const auto scores = model_->forward(pixels);
      Add(sums, torch::nn::functional::cross_entropy(scores, labels).item<double>(), scores, labels);
      if (!outputs.empty()) TakeOutputs(scores, at, outputs);
    }
    return OverRanks(sums, session_);
  }

  /// The first of `scores` is record `first` of this rank.
  void TakeOutputs(const at::Tensor& scores, std::size_t first, std::span<double> outputs) const {
    const auto probabilities = torch::softmax(scores.to(torch::kFloat64), 1).contiguous();
    const auto* from = probabilities.data_ptr<double>();
    for (std::int64_t i = 0; i < scores.size(0); ++i, from += kClasses) {
      const auto row = (first + static_cast<std::size_t>(i)) * static_cast<std::size_t>(session_.size()) +
                       static_cast<std::size_t>(session_.rank());
      std::copy_n(from, kClasses, outputs.begin() + static_cast<std::ptrdiff_t>(row * kClasses));
    }
  }

  void Test() {
    if (!test_images_) return;
    const auto test = Evaluate(*test_images_, AllRecords(*test_images_));
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
    progress_.train = OverRanks(train_sums_, session_);
    const std::filesystem::path directory = session_.BeginCheckpoint(progress_.step);
    if (First()) Write(directory);
    session_.CommitCheckpoint(progress_.step, static_cast<double>(progress_.epoch));
    checkpointed_ = std::chrono::steady_clock::now();
  }

  Course CurrentCourse() const {
    Course course;
    course.channels = arguments_.channels;
    course.optimizer = OptimizerName(arguments_.optimizer);
    course.global_batch_size = batch_ * session_.size();
    course.seed = arguments_.seed;
    course.train_images = static_cast<std::int64_t>(train_.size());
    course.validation_seed = settings_.validation_seed;
    return course;
  }

  void Write(const std::filesystem::path& directory) const {
    torch::save(model_, (directory / "model.pt").string());
    torch::save(*optimizer_, (directory / "optimizer.pt").string());
    WriteProgress(directory / "progress.json", progress_, CurrentCourse());
  }

  void Resume() {
    const std::filesystem::path directory = session_.ResumeFrom();
    if (directory.empty()) return;
    progress_ = ReadProgress(directory / "progress.json", CurrentCourse());
    LoadWeights(model_, arguments_.channels, directory / "model.pt");
    LoadFile(*optimizer_, directory / "optimizer.pt");
    if (First()) train_sums_ = progress_.train;
    if (First()) fmt::print("continuing at epoch {}, step {}\n", progress_.epoch + 1, progress_.step);
  }

  const Arguments& arguments_;
  const Settings& settings_;
  Session& session_;
  Images images_;
  std::optional<Images> test_images_;
  RecordNumbers train_;
  RecordNumbers validation_;
  std::int64_t batch_ = 0;  ///< images per rank and step
  std::int64_t steps_ = 0;  ///< per epoch
  torch::nn::Sequential model_{nullptr};
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
  at::Tensor gradients_;               ///< all of them, one behind the other
  std::vector<Tensor> gradient_list_;  ///< its parts, as the runtime knows them
  std::vector<Tensor> weights_;
  Progress progress_;
  Sums train_sums_;  ///< of this rank, in this epoch
  double images_per_second_ = 0;
  std::chrono::steady_clock::time_point reported_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point checkpointed_ = std::chrono::steady_clock::now();
};

}  // namespace

Ending Train(const Arguments& arguments, const Settings& settings, Session& session) {
  return Trainer(arguments, settings, session).Run();
}

}  // namespace fashion
