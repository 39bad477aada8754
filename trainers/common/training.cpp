#include "trainers/common/training.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <optional>
#include <stdexcept>

#include "trainers/common/evaluation.h"
#include "trainers/common/optimizers.h"
#include "trainers/common/progress.h"
#include "trainers/common/records.h"
#include "trainers/common/replica.h"
#include "trainers/common/usage_error.h"

namespace trainers {
namespace {

using slipway::client::Session;

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Records per rank and step. Errors: UsageError.
std::int64_t BatchOf(const Arguments& arguments, int ranks) {
  if (arguments.global_batch_size == 0) {
    return arguments.batch_size > 0 ? arguments.batch_size : arguments.usual_batch_size;
  }
  if (arguments.batch_size > 0) {
    throw UsageError("--batch_size is per rank, --global_batch_size over all ranks: give one of them");
  }
  if (arguments.global_batch_size % ranks != 0) {
    throw UsageError(
        fmt::format("--global_batch_size {} does not divide among {} ranks", arguments.global_batch_size, ranks));
  }
  return arguments.global_batch_size / ranks;
}

/// Before anything is drawn: the first weights follow from the seed.
const Arguments& WithSeed(const Arguments& arguments) {
  at::set_num_threads(static_cast<int>(arguments.threads));
  at::manual_seed(static_cast<std::uint64_t>(arguments.seed));
  return arguments;
}

class Trainer {
 public:
  Trainer(const Task& task, const Arguments& arguments, const Settings& settings, Session& session)
      : task_(task),
        arguments_(WithSeed(arguments)),
        settings_(settings),
        session_(session),
        batch_(BatchOf(arguments, session.size())),
        records_(Records::ForTraining(task, settings, arguments, batch_, session)),
        replica_(task, session, records_.steps() * arguments.epochs),
        optimizer_(MakeOptimizer(arguments, replica_.parameters())) {
    // Before any training: a set that cannot be read should not cost hours.
    if (settings.validation_fraction > 0) validation_.emplace(Records::ForValidation(task, settings, session));
    if (settings.test_data) test_.emplace(Records::ForTest(task, *settings.test_data, session));
  }

  Ending Run() {
    Resume();
    if (First()) PrintStart();
    records_.Begin(progress_.epoch, progress_.step_in_epoch);
    // A trial that begins with the weights of one that was done has nothing to train, but a value all the same.
    if (progress_.epoch >= arguments_.epochs) Validate();
    while (progress_.epoch < arguments_.epochs) {
      if (!TrainEpoch()) return Ending::kDone;
      FinishEpoch();
      NextEpoch();
      if (IsAtLimit()) return Ending::kAtLimit;
    }
    replica_.CheckMatch();
    Report("replicas_match", 1);
    Test();
    return Ending::kDone;
  }

 private:
  bool First() const { return session_.rank() == 0; }
  std::int64_t GlobalBatch() const { return batch_ * session_.size(); }

  void PrintStart() const {
    fmt::print("{} training and {} validation {}, {} a step on {} {}, {} with lr {}\n", records_.count(),
               validation_ ? validation_->count() : 0, task_.records(), GlobalBatch(), session_.size(),
               session_.size() == 1 ? "rank" : "ranks", arguments_.optimizer, arguments_.rate.base);
    std::fflush(stdout);
  }

  void Report(const std::string& name, double value) {
    const auto epoch = static_cast<double>(progress_.epoch) +
                       static_cast<double>(progress_.step_in_epoch) / static_cast<double>(records_.steps());
    session_.Report(progress_.step, epoch, name, value);
  }

  /// False when the launcher has asked to stop; a checkpoint is written then.
  bool TrainEpoch() {
    const auto first_step = progress_.step_in_epoch;
    const auto waited = records_.WaitedSeconds();
    const auto started = std::chrono::steady_clock::now();
    replica_.Train();
    while (const auto batch = records_.Next()) {
      Step(*batch);
      if (session_.StopRequested()) {
        Checkpoint();
        if (First()) fmt::print("stopping as asked, after step {}\n", progress_.step);
        return false;
      }
      if (CheckpointIsDue()) Checkpoint();
    }
    const auto seconds = SecondsSince(started);
    const auto trained = static_cast<double>((progress_.step_in_epoch - first_step) * GlobalBatch());
    records_per_second_ = trained > 0 ? trained / seconds : std::nan("");
    input_wait_share_ = (records_.WaitedSeconds() - waited) / seconds;
    return true;
  }

  void Step(const TensorBatch& batch) {
    const auto outputs = replica_.Forward(batch.input);
    const auto loss = task_.Loss(outputs, batch.target);
    const auto value = loss.item<double>();
    if (!std::isfinite(value)) {
      throw std::runtime_error(fmt::format("the loss is {} at step {} on rank {}: try a smaller learning rate than {}",
                                           value, progress_.step, session_.rank(), arguments_.rate.base));
    }
    if (replica_.BackwardAndExchange(loss)) {
      optimizer_->Step(arguments_.rate.At(progress_.step, records_.steps(), arguments_.epochs, GlobalBatch()));
    }
    AddBatch(train_sums_, task_, value, outputs.detach(), batch.target);
    ++progress_.step;
    ++progress_.step_in_epoch;
    ReportNowAndThen(value);
  }

  void ReportNowAndThen(double loss) {
    if (!First() || SecondsSince(reported_) < 1) return;
    reported_ = std::chrono::steady_clock::now();
    Report("train_loss", loss);
  }

  void FinishEpoch() {
    const auto train = OverRanks(train_sums_, session_);
    ReportSums("train", train);
    const auto validation = Validate();
    if (std::isfinite(records_per_second_)) Report(fmt::format("{}_per_second", task_.records()), records_per_second_);
    Report("input_wait_share", input_wait_share_);
    if (First()) PrintEpoch(train, validation);
  }

  /// "train_loss", "train_accuracy" ...
  void ReportSums(const std::string& set, const Sums& sums) {
    Report(set + "_loss", sums.MeanLoss());
    const auto names = task_.MeasureNames();
    for (std::size_t i = 0; i < names.size(); ++i) Report(set + "_" + names[i], sums.Mean(i));
  }

  void ReportEvaluated(const std::string& set, const Evaluated& evaluated) {
    ReportSums(set, evaluated.sums);
    for (const auto& [name, value] : evaluated.further) Report(set + "_" + name, value);
  }

  std::optional<Evaluated> Validate() {
    if (!validation_) return {};
    const auto folder = WantsPredictions() ? settings_.run_folder : std::filesystem::path();
    auto evaluated = Evaluate(task_, replica_, *validation_, session_, folder);
    ReportEvaluated("validation", evaluated);
    return evaluated;
  }

  /// After the last epoch: those of the network that the last reported values are of.
  bool WantsPredictions() const {
    return arguments_.predictions != 0 && !settings_.run_folder.empty() && progress_.epoch + 1 >= arguments_.epochs;
  }

  std::string Described(const std::string& before, const Sums& sums, const NamedValues& further) const {
    std::string text;
    const auto names = task_.MeasureNames();
    for (std::size_t i = 0; i < names.size(); ++i) text += fmt::format("  {}{} {:.4f}", before, names[i], sums.Mean(i));
    for (const auto& [name, value] : further) text += fmt::format("  {}{} {:.4f}", before, name, value);
    return text;
  }

  void PrintEpoch(const Sums& train, const std::optional<Evaluated>& validation) const {
    fmt::print("epoch {}  loss {:.4f}{}", progress_.epoch + 1, train.MeanLoss(), Described("", train, {}));
    if (validation) fmt::print("{}", Described("validation ", validation->sums, validation->further));
    if (std::isfinite(records_per_second_)) fmt::print("  {:.4g} {}/s", records_per_second_, task_.records());
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

  void Test() {
    if (!test_) return;
    const auto evaluated = Evaluate(task_, replica_, *test_, session_);
    ReportEvaluated("test", evaluated);
    if (First()) fmt::print("{}\n", Described("test ", evaluated.sums, evaluated.further).substr(2));
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
    train_sums_.measures.resize(task_.MeasureNames().size());
    progress_.train = OverRanks(train_sums_, session_);
    const std::filesystem::path directory = session_.BeginCheckpoint(progress_.step);
    if (First()) Write(directory);
    session_.CommitCheckpoint(progress_.step, static_cast<double>(progress_.epoch));
    checkpointed_ = std::chrono::steady_clock::now();
  }

  Course CurrentCourse() const {
    Course course = task_.Shape();
    course["optimizer"] = arguments_.optimizer;
    course["global_batch_size"] = std::to_string(GlobalBatch());
    course["seed"] = std::to_string(arguments_.seed);
    course[fmt::format("train_{}", task_.records())] = std::to_string(records_.count());
    course["validation_seed"] = std::to_string(settings_.validation_seed);
    return course;
  }

  void Write(const std::filesystem::path& directory) const {
    replica_.Save(directory / "model.pt");
    optimizer_->Save(directory / "optimizer.pt");
    WriteProgress(directory / "progress.json", progress_, CurrentCourse());
  }

  void Resume() {
    const std::filesystem::path directory = session_.ResumeFrom();
    if (directory.empty()) return;
    progress_ = ReadProgress(directory / "progress.json", CurrentCourse());
    replica_.Load(directory / "model.pt");
    optimizer_->Load(directory / "optimizer.pt");
    if (First()) train_sums_ = progress_.train;
    if (First()) fmt::print("continuing at epoch {}, step {}\n", progress_.epoch + 1, progress_.step);
  }

  const Task& task_;
  const Arguments& arguments_;
  const Settings& settings_;
  Session& session_;
  std::int64_t batch_;  ///< records per rank and step
  Records records_;
  std::optional<Records> validation_;
  std::optional<Records> test_;
  Replica replica_;
  std::unique_ptr<Optimizer> optimizer_;
  Progress progress_;
  Sums train_sums_;  ///< of this rank, in this epoch
  double records_per_second_ = 0;
  double input_wait_share_ = 0;
  std::chrono::steady_clock::time_point reported_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point checkpointed_ = std::chrono::steady_clock::now();
};

}  // namespace

Ending Train(const Task& task, const Arguments& arguments, const Settings& settings, Session& session) {
  return Trainer(task, arguments, settings, session).Run();
}

}  // namespace trainers
