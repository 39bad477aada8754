#include "trainers/common/training.h"

#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "trainers/common/device.h"
#include "trainers/common/evaluation.h"
#include "trainers/common/optimizers.h"
#include "trainers/common/progress.h"
#include "trainers/common/records.h"
#include "trainers/common/replica.h"
#include "trainers/common/report.h"
#include "trainers/common/run_log.h"
#include "trainers/common/saved_training.h"
#include "trainers/common/step_share.h"
#include "trainers/common/usage_error.h"
#include "trainers/common/weight_average.h"

namespace trainers {
namespace {

using slipway::client::Session;

/// Before anything is drawn: the first weights follow from the seed.
const Arguments& WithSeed(const Arguments& arguments) {
  at::set_num_threads(static_cast<int>(arguments.threads));
  at::manual_seed(static_cast<std::uint64_t>(arguments.seed));
  return arguments;
}

/// While it lives, this thread computes in bf16 or fp16 what libtorch holds to be safe in it; weights stay in fp32.
class Autocast {
 public:
  Autocast(const std::string& precision, at::Device device) : is_on_(precision != "fp32"), on_gpu_(device.is_cuda()) {
    if (!is_on_) return;
    at::autocast::set_autocast_cpu_dtype(at::kBFloat16);
    at::autocast::set_autocast_gpu_dtype(precision == "fp16" ? at::kHalf : at::kBFloat16);
    SetEnabled(true);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;
  ~Autocast() {
    if (!is_on_) return;
    SetEnabled(false);
    at::autocast::clear_cache();
  }

 private:
  void SetEnabled(bool enabled) const {
    if (on_gpu_) return at::autocast::set_enabled(enabled);
    at::autocast::set_cpu_enabled(enabled);
  }

  bool is_on_;
  bool on_gpu_;
};

/// What a training begins with. Errors: UsageError when the exchange does what scaled losses do not go with.
Progress FirstProgress(const Arguments& arguments, const Settings& settings) {
  Progress progress;
  if (!ScalesLosses(arguments)) return progress;
  if (!settings.unscalable.empty()) {
    throw UsageError(
        fmt::format("scaled losses (--precision fp16, --loss_scale) do not go with {}: leave one of them out",
                    settings.unscalable));
  }
  progress.loss_scale = FirstLossScale(arguments);
  return progress;
}

/// Optimizer steps of an epoch; all that are begun where records repeat. Errors: UsageError when there are none.
std::int64_t StepsOf(const Records& records, const StepShare& share, const Task& task) {
  const auto filled_up = records.remainder() == slipway::staging::Remainder::kRepeat ? share.passes - 1 : 0;
  const auto steps = (records.passes() + filled_up) / share.passes;
  if (steps > 0) return steps;
  throw UsageError(
      fmt::format("{} training {} are fewer than one step of {}", records.count(), task.records(), share.Global()));
}

Course CourseOf(const Task& task, const Arguments& arguments, const Settings& settings, const StepShare& share,
                const Records& records) {
  Course course{{"trainer", std::string(task.name())}};
  for (const auto& [name, value] : task.Shape()) course.emplace_back(name, value);
  course.emplace_back("optimizer", arguments.optimizer);
  course.emplace_back("global_batch_size", std::to_string(share.Global()));
  course.emplace_back("seed", std::to_string(arguments.seed));
  course.emplace_back(fmt::format("train_{}", task.records()), std::to_string(records.count()));
  course.emplace_back("validation_seed", std::to_string(settings.validation_seed));
  course.emplace_back("data.train.seed", std::to_string(records.data_seed()));
  course.emplace_back("data.train.remainder", slipway::WordOf(records.remainder()));
  return course;
}

class Trainer {
 public:
  Trainer(const Task& task, const Arguments& arguments, const Settings& settings, Session& session)
      : task_(task),
        arguments_(WithSeed(arguments)),
        settings_(settings),
        session_(session),
        share_(ShareStep(arguments, settings.accumulate, session.size())),
        device_(ChosenDevice(arguments, session.local_rank())),
        records_(Records::ForTraining(task, settings, arguments, Batches(), session)),
        steps_(StepsOf(records_, share_, task)),
        replica_(task, session, steps_ * arguments.epochs, device_),
        optimizer_(MakeOptimizer(arguments, replica_.parameters())),
        average_(arguments.ema > 0 ? std::make_unique<WeightAverage>(arguments.ema, replica_.Weights()) : nullptr),
        progress_(FirstProgress(arguments, settings)),
        saved_(settings, session, {replica_, *optimizer_, average_.get()},
               CourseOf(task, arguments, settings, share_, records_)),
        report_(task, session, progress_, steps_) {
    // Before any training: a set that cannot be read should not cost hours.
    if (settings.validation_fraction > 0) {
      validation_.emplace(Records::ForValidation(task, settings, Batches(), session));
    }
    if (settings.has_test_data) test_.emplace(Records::ForTest(task, Batches(), session));
  }

  Ending Run() {
    Begin();
    // A trial that begins with the weights of one that was done has nothing to train, but a value all the same.
    if (progress_.epoch >= arguments_.epochs) {
      if (const auto validation = Validate()) report_.Values("validation", *validation);
    }
    while (progress_.epoch < arguments_.epochs) {
      if (!TrainEpoch()) return Ending::kDone;
      NextEpoch();
      if (IsAtLimit()) return Ending::kAtLimit;
    }
    replica_.CheckMatch();
    const AveragedWeights averaged(average_.get());
    if (average_) replica_.CheckMatch();
    report_.Value("replicas_match", 1);
    if (test_) {
      report_.Test(Evaluate(task_, replica_, *test_, session_));
      report_.Skipped("test", *test_);
    }
    return Ending::kDone;
  }

 private:
  BatchPlace Batches() const { return {share_.batch, device_}; }

  void Begin() {
    auto restored = saved_.Restore();
    if (restored) {
      RequireSameShares(*restored, records_.shares());
      if (!restored->loss_scale || !progress_.loss_scale) restored->loss_scale = progress_.loss_scale;
      progress_ = std::move(*restored);
    }
    progress_.shares = records_.shares();
    // The first rank holds what was summed up before; the others add what they train from now on.
    train_sums_ = restored && session_.rank() == 0 ? progress_.train : NoSums(task_);
    report_.Begin({replica_.parameter_count(), records_.count(), validation_ ? validation_->count() : 0, share_},
                  arguments_);
    if (device_.is_cuda()) report_.Line("computing on " + device_.str());
    if (restored) report_.GoOn(arguments_);
    WriteFacts();
    records_.Begin(progress_.epoch, progress_.step_in_epoch * share_.passes);
  }

  void WriteFacts() {
    TrainingFacts facts;
    facts.share = share_;
    facts.steps_per_epoch = steps_;
    facts.train_records = records_.count();
    facts.evaluation_records = validation_ ? validation_->count() : 0;
    facts.seed_is_known = settings_.parameters.contains("seed");
    log_.WriteFacts(arguments_, facts);
  }

  /// False when the launcher has asked to stop; a checkpoint is written then.
  bool TrainEpoch() {
    const auto first_step = progress_.step_in_epoch;
    const auto waited = records_.WaitedSeconds();
    const auto started = std::chrono::steady_clock::now();
    replica_.Train();
    log_.StartEpoch(progress_.epoch + 1);
    while (progress_.step_in_epoch < steps_) {
      Step();
      if (session_.StopRequested()) {
        Checkpoint();
        report_.Line(fmt::format("stopping as asked, after step {}", progress_.step));
        return false;
      }
      if (saved_.IsDue()) Checkpoint();
    }
    EndRecords();
    log_.StopEpoch(progress_.epoch + 1);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started;
    const auto trained = (progress_.step_in_epoch - first_step) * share_.Global();
    if (trained > 0) log_.WriteThroughput(progress_.epoch + 1, static_cast<double>(trained) / seconds.count());
    const auto train = OverRanks(train_sums_, session_);
    report_.Epoch(train, Validate(), {seconds.count(), records_.WaitedSeconds() - waited, trained});
    report_.Skipped("train", records_);
    if (validation_) report_.Skipped("validation", *validation_);
    return true;
  }

  /// Where records repeat, the passes that the last step lacks are the first ones of the epoch.
  TensorBatch NextBatch() {
    while (true) {
      if (const auto batch = records_.Next()) return *batch;
      records_.Begin(progress_.epoch, 0);
    }
  }

  void EndRecords() {
    if (steps_ * share_.passes <= records_.passes()) return records_.SkipRest();
    records_.Begin(progress_.epoch + 1, 0);
  }

  /// One step of the optimizer.
  void Step() {
    double loss = 0;
    bool has_gradients = false;
    for (std::int64_t pass = 0; pass < share_.passes; ++pass) {
      const auto batch = NextBatch();
      const auto outputs = Forward(batch.input);
      const auto batch_loss = task_.Loss(outputs, batch.target);
      const auto value = batch_loss.item<double>();
      if (!std::isfinite(value)) FailOn(batch, value);
      const auto& scale = progress_.loss_scale;
      has_gradients = replica_.BackwardAndExchange(scale ? batch_loss * scale->factor : batch_loss);
      AddBatch(train_sums_, task_, value, outputs.detach(), batch.target);
      loss += value / static_cast<double>(share_.passes);
    }
    if (has_gradients && UnscaleGradients()) {
      optimizer_->Step(arguments_.rate.At(progress_.step, steps_, arguments_.epochs, share_.Global()));
      if (average_) average_->Update();
    }
    ++progress_.step;
    ++progress_.step_in_epoch;
    ReportNowAndThen(loss);
  }

  /// False when a gradient overflowed: the step is left out, on all ranks.
  bool UnscaleGradients() {
    auto& scale = progress_.loss_scale;
    if (!scale) return true;
    const bool finite = replica_.Unscale(scale->factor);
    scale->Update(!finite);
    if (finite) return true;
    report_.Line(fmt::format("a gradient overflowed at step {}: the step is left out, losses are now scaled by {}",
                             progress_.step, scale->factor));
    if (scale->factor >= LossScale::kLeast) return false;
    throw std::runtime_error(fmt::format(
        "gradients are not finite at step {}, however losses are scaled: try a smaller learning rate than {}",
        progress_.step, arguments_.rate.base));
  }

  /// Of training: the outputs are fp32.
  at::Tensor Forward(const at::Tensor& input) {
    const Autocast autocast(arguments_.precision, device_);
    return replica_.Forward(input).to(at::kFloat);
  }

  /// What the loss is not finite for: a record, weights, or the size of the steps.
  [[noreturn]] void FailOn(const TensorBatch& batch, double loss) const {
    BlameRecord(task_, records_, batch);
    const auto name = replica_.NotFinite();
    const auto weights = name.empty() ? std::string() : fmt::format(", where the weights '{}' are not finite", name);
    throw std::runtime_error(fmt::format(
        "the loss is {} at step {} on rank {}{}: try a smaller learning rate than {}, or "
        "gradients.clip_norm",
        std::isnan(loss) ? "nan" : "infinite", progress_.step, session_.rank(), weights, arguments_.rate.base));
  }

  /// The mean over all ranks.
  void ReportNowAndThen(double loss) {
    if (progress_.step % arguments_.report_every != 0) return;
    double values[] = {loss};
    session_.Average(values);
    report_.Value("train_loss", values[0]);
  }

  std::optional<Evaluated> Validate() {
    if (!validation_) return {};
    const auto folder = WantsPredictions() ? settings_.run_folder : std::filesystem::path();
    const auto epoch = progress_.epoch + 1;
    log_.StartEvaluation(epoch);
    const AveragedWeights averaged(average_.get());
    auto evaluated = Evaluate(task_, replica_, *validation_, session_, folder);
    log_.StopEvaluation(epoch, task_.classes() > 0 ? "eval_accuracy" : "eval_error", evaluated.sums.Mean(0));
    return evaluated;
  }

  /// After the last epoch: those of the network that the last reported values are of.
  bool WantsPredictions() const {
    return arguments_.predictions != 0 && !settings_.run_folder.empty() && progress_.epoch + 1 >= arguments_.epochs;
  }

  void NextEpoch() {
    ++progress_.epoch;
    progress_.step_in_epoch = 0;
    train_sums_ = NoSums(task_);
    Checkpoint();
  }

  void Checkpoint() {
    progress_.train = OverRanks(train_sums_, session_);
    saved_.Write(progress_);
  }

  /// Only where there is something to go on with, and a checkpoint to go on from.
  bool IsAtLimit() const {
    if (!settings_.limit || !settings_.checkpoints || progress_.epoch >= arguments_.epochs) return false;
    const bool at_limit = (settings_.resource == "epoch" && static_cast<double>(progress_.epoch) >= *settings_.limit) ||
                          (settings_.resource == "step" && static_cast<double>(progress_.step) >= *settings_.limit);
    if (at_limit) report_.Line(fmt::format("ending at the limit of {} {}", settings_.resource, *settings_.limit));
    return at_limit;
  }

  const Task& task_;
  const Arguments& arguments_;
  const Settings& settings_;
  Session& session_;
  StepShare share_;
  at::Device device_;
  Records records_;
  std::int64_t steps_;  ///< of an epoch
  std::optional<Records> validation_;
  std::optional<Records> test_;
  Replica replica_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<WeightAverage> average_;  ///< null: weights are not averaged
  Progress progress_;
  Sums train_sums_;  ///< of this rank, in this epoch
  SavedTraining saved_;
  Report report_;
  RunLog log_{session_};
};

}  // namespace

Ending Train(const Task& task, const Arguments& arguments, const Settings& settings, Session& session) {
  return Trainer(task, arguments, settings, session).Run();
}

}  // namespace trainers
