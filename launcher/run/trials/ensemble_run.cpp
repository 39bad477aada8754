#include "launcher/run/trials/ensemble_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/error.h"
#include "ensemble/exchange/import_trials.h"
#include "ensemble/manager/manager.h"
#include "ensemble/store/book_error.h"
#include "launcher/attempt/allocation.h"
#include "launcher/exports/live_tensorboard.h"
#include "launcher/notify/notifier.h"
#include "launcher/plan/trials_at_a_time.h"
#include "launcher/run/ending/node_requeues.h"
#include "launcher/run/results/stage_out_queue.h"
#include "launcher/run/trials/batch_trial_runner.h"
#include "launcher/run/trials/ensemble_options.h"
#include "launcher/run/trials/ensemble_result.h"
#include "launcher/run/trials/local_trial_runner.h"
#include "launcher/run/trials/open_book.h"
#include "launcher/run/trials/shared_writes.h"
#include "launcher/run/trials/trial_logs.h"
#include "launcher/run_folder/pause_note.h"
#include "launcher/spec/spec.h"
#include "launcher/trials/model_ensemble.h"
#include "launcher/trials/select_models.h"
#include "launcher/trials/trials_documents.h"
#include "launcher/trials/trials_view.h"

namespace slipway::launcher {
namespace {

/// Tells the user how the trials go.
class Reporter final : public ensemble::EnsembleObserver {
 public:
  Reporter(RunContext& context, std::int64_t trials, TrialLogs& logs)
      : context_(context), output_(context.output), trials_(trials), logs_(logs), shared_(context.plan) {}

  void Opened(const ensemble::TrialTable& trials) override {
    for (ensemble::TrialNumber number = 0; number < trials.size(); ++number) {
      if (ensemble::IsFinal(trials.at(number).state)) over_.insert(number);
    }
    has_earlier_ = !over_.empty();
    if (has_earlier_) KnowBestOf(trials);
    trials_ += ensemble::CountImported(trials.trials()) * context_.plan.spec().ensemble->repeats;
    if (trials.size() > trials_) SayThatNoneBegin(trials.size());
    trials_ = std::max(trials_, trials.size());
  }

  void AttemptWaits(const ensemble::TrialRecord& trial) override {
    waiting_.insert(trial.number);
    over_.erase(trial.number);
    ShowProgress();
  }

  void AttemptStarted(const ensemble::TrialRecord& trial) override {
    waiting_.erase(trial.number);
    running_.insert(trial.number);
    over_.erase(trial.number);
    FollowMetrics(trial);
    Tell(shared_.Began(trial.number));
    ShowProgress();
    if (trial.attempts > 1)
      output_.Say(fmt::format("trial {} starts again (attempt {})", trial.number, trial.attempts));
  }

  void MetricReported(const ensemble::MetricRecord&) override {}

  void AttemptEnded(const ensemble::TrialRecord& trial, ensemble::TrialState attempt,
                    const ensemble::TrialRecord* best) override {
    waiting_.erase(trial.number);
    running_.erase(trial.number);  // not there when an earlier manager had started it
    logs_.AttemptEnded(trial);
    LeaveMetrics(trial);
    Tell(shared_.Ended(trial.number));
    if (ensemble::IsFinal(trial.state)) {
      over_.insert(trial.number);
      ++ended_;
    }
    if (best != nullptr) TakeBest(*best, trial);
    // Thousands of short trials would only scroll by: the progress line tells enough.
    if (trials_ <= kTrialsSaidOneByOne) output_.Say(Describe(trial, attempt));
    ShowProgress();
  }

  void Warned(const std::string& what) override { output_.Warn(what); }

  /// `status` says it, too.
  void Paused(const ensemble::Pause& pause) override {
    context_.pause->Set(pause);
    output_.Warn("paused: " + pause.why);
    context_.Note("paused", Json{{"cause", WordOf(pause.cause)}, {"reason", pause.why}});
  }

  void GoesOn() override {
    output_.Say("the ensemble goes on");
    context_.Note("goes_on", Json::object());
    context_.pause->Clear();
  }

  /// After the last of them.
  void Finish() const { Tell(shared_.Finish()); }

  /// Trials that came to their end while this looked on.
  int ended() const { return ended_; }

 private:
  static constexpr std::int64_t kTrialsSaidOneByOne = 200;
  static constexpr int kMostOfLastLine = 200;  // columns

  static std::string Describe(const ensemble::TrialRecord& trial, ensemble::TrialState attempt) {
    auto text = fmt::format("trial {:>3}  {:<9}", trial.number, WordOf(attempt));
    if (trial.objective) text += fmt::format("  {:.6g}", *trial.objective);
    for (const double value : trial.further) text += fmt::format("  {:.6g}", value);
    text += "  " + ensemble::Describe(trial.parameters);
    if (!trial.reason.empty()) text += "  " + InOneLine(trial.reason);
    return text;
  }

  /// A failure's reason ends with the last lines of the log; the very last one mostly tells what was wrong.
  static std::string InOneLine(const std::string& reason) {
    const auto first = reason.find('\n');
    if (first == std::string::npos) return reason;
    return fmt::format("{}: {:.{}}", reason.substr(0, first), reason.substr(reason.rfind('\n') + 1), kMostOfLastLine);
  }

  void SayThatNoneBegin(std::int64_t begun) {
    output_.Say(fmt::format("{} trials have begun, and the budget is {}: no more begin, and these come to their end",
                            begun, trials_));
  }

  /// Trials that are jobs have managers, which do that.
  bool FollowsMetrics() const { return context_.tensorboard != nullptr && !TrialsAreJobs(context_.plan.spec()); }

  void FollowMetrics(const ensemble::TrialRecord& trial) const {
    if (!FollowsMetrics()) return;
    const auto folder = context_.folder.path() / TrialFolder(trial.number);
    const auto parameters = EffectiveParameters(context_.plan.spec().train, ensemble::ToJson(trial.parameters));
    context_.tensorboard->Begin(trial.number, trial.attempts, PlaceOfAttempt(folder, trial.attempts).directory,
                                parameters, trial.configuration);
  }

  void LeaveMetrics(const ensemble::TrialRecord& trial) const {
    if (!FollowsMetrics()) return;
    const auto state = ensemble::IsFinal(trial.state) ? WordOf(trial.state) : std::string_view();
    context_.tensorboard->End(trial.number, trial.attempts, std::string(state));
  }

  void KnowBestOf(const ensemble::TrialTable& trials) const {
    if (context_.notifier == nullptr) return;
    const auto& ensemble = *context_.plan.spec().ensemble;
    const auto ranked = Rank(trials.trials(), ensemble.objective.ValueGoal(), ensemble.repeats);
    if (ranked.empty() || !ranked.front().value) return;
    context_.notifier->KnowBest({ensemble.objective.ValueName(), *ranked.front().value, ranked.front().trial.number});
  }

  /// Notifies when it is another one, or better by its repeats. After a resume the first one may be an old one.
  void TakeBest(const ensemble::TrialRecord& best, const ensemble::TrialRecord& ended) {
    best_ = fmt::format("best {:.6g} (trial {})", *best.objective, best.number);
    const std::pair now{best.number, *best.objective};
    const auto before = std::exchange(known_best_, now);
    const int repeats = context_.plan.spec().ensemble->repeats;
    const bool may_be_old = !before && has_earlier_ && ended.number / repeats != best.number / repeats;
    if (context_.notifier == nullptr || before == now || may_be_old) return;
    context_.notifier->FoundBest({context_.plan.spec().ensemble->objective.ValueName(), now.second, now.first});
  }

  void Tell(const std::vector<std::string>& warnings) const {
    for (const auto& warning : warnings) {
      output_.Warn(warning);
      context_.Note("warning", Json{{"reason", warning}});
    }
  }

  void ShowProgress() {
    auto text = fmt::format("{} of {} trials ended, {} running", over_.size(), trials_, running_.size());
    if (!waiting_.empty()) text += fmt::format(", {} in the queue", waiting_.size());
    output_.Progress(best_.empty() ? text : text + ", " + best_);
  }

  RunContext& context_;
  Output& output_;
  std::int64_t trials_;
  TrialLogs& logs_;
  SharedFiles shared_;
  std::set<ensemble::TrialNumber> waiting_;  // in the queue of a batch system
  std::set<ensemble::TrialNumber> running_;
  std::set<ensemble::TrialNumber> over_;
  int ended_ = 0;
  std::string best_;
  std::optional<std::pair<ensemble::TrialNumber, double>> known_best_;
  bool has_earlier_ = false;  ///< trials that ended under an earlier manager
};

SelectModelsOptions SelectionFor(const SelectSpec& select, const RunFolder& folder) {
  SelectModelsOptions options;
  options.run_folder = folder.path();
  options.method = select.method;
  options.top = select.top;
  options.metric = select.metric;
  options.by = select.by;
  return options;
}

/// The model ensemble at the end of a run. The trials are there with it or without: what is in its way is a warning.
void AddModels(const SelectSpec& select, RunContext& context, RunResult& result) try {
  SelectModels(SelectionFor(select, context.folder), context.output);
  const auto models = ReadModelEnsemble(context.folder.path());
  if (!models) return;
  result.summary["model_ensemble"] = ToJson(*models);
  result.summary_text += "\n  model ensemble  " + Describe(*models);
} catch (const std::exception& error) {
  context.output.Warn(fmt::format("there is no model ensemble: {}", error.what()));
  context.Note("no_model_ensemble", Json{{"reason", error.what()}});
}

/// Whether a trial has written one: then it goes on from there next time.
bool HasCheckpointSince(std::filesystem::file_time_type began, const RunContext& context) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(context.folder.trials(), error), end; entry != end;
       entry.increment(error)) {
    const auto place = PlaceOfAttempt(entry->path(), 1, context.stage_out_queue);
    const bool any = std::filesystem::directory_iterator(place.checkpoints, error) != end;
    if (any && std::filesystem::last_write_time(place.checkpoints, error) >= began) return true;
  }
  return false;
}

/// What the trials are packed into; empty: each is a job of its own.
std::vector<ensemble::AllocatedNode> NodesOf(RunContext& context) {
  if (TrialsAreJobs(context.plan.spec())) return {};
  if (context.allocation == nullptr) return {ThisMachine(context.plan.spec())};
  std::vector<ensemble::AllocatedNode> shares;
  for (int node = 0; node < context.allocation->nodes().count(); ++node) {
    auto facts = context.allocation->nodes().FactsOf(node);
    std::ranges::sort(facts.cores);  // small trials are better off on cores that are no neighbours
    shares.push_back({facts.name, facts.cores, facts.devices.names()});
  }
  return shares;
}

struct Trials {
  ensemble::EnsembleSummary summary;
  bool progressed = false;
};

std::unique_ptr<ensemble::TrialRunner> MakeRunner(RunContext& context, TrialLogs& logs) {
  const auto& spec = context.plan.spec();
  if (TrialsAreJobs(spec)) return std::make_unique<BatchTrialRunner>(context);
  return std::make_unique<LocalTrialRunner>(context, FitTrials(spec, NodesOf(context)).share_cores, logs);
}

/// Waits for a book that another process has locked, and for a full disk, as later in the run. If the user asks to stop
/// meanwhile, throws the book's error.
ensemble::TrialBook OpenBookInTime(RunContext& context) {
  constexpr auto kPauseForBook = std::chrono::milliseconds(300);
  for (bool waits = false;; context.loop.RunOnce(kPauseForBook)) {
    try {
      auto book = OpenBook(context.folder);
      if (waits) context.output.Say("the ensemble goes on");
      context.pause->Clear();
      return book;
    } catch (const ensemble::BookError& error) {
      if (!error.MayPass() || context.interrupt.asked()) throw;
      if (!std::exchange(waits, true)) {
        context.pause->Set({error.pause_cause(), error.message()});
        context.output.Warn(fmt::format("paused: {}: the ensemble begins when that has passed", error.message()));
      }
    }
  }
}

/// The book is one plain file again when it returns.
Trials RunTrials(const ensemble::EnsembleOptions& options, RunContext& context) {
  const auto began = std::filesystem::file_time_type::clock::now();
  auto book = OpenBookInTime(context);
  ++context.state.attempt;
  context.state.phase = Phase::kRunning;
  context.commit("running");
  TrialLogs logs(context);
  const auto runner = MakeRunner(context, logs);
  Reporter reporter(context, options.trials * options.repeats, logs);
  const auto summary = ensemble::RunEnsemble(book, options, *runner, reporter);
  reporter.Finish();
  return {summary, reporter.ended() > 0 || HasCheckpointSince(began, context)};
}

}  // namespace

RunResult CarryOutEnsemble(RunContext& context) {
  auto options = EnsembleOptionsFor(context.plan, NodesOf(context));
  options.requests_in = context.folder.path();
  const auto trials = RunTrials(options, context);
  auto result = ResultOf(trials.summary, options, context.folder.selector());
  if (auto* out = std::get_if<cause::OutOfNodes>(&result.cause)) {
    const auto again = MayGetOtherNodes(context.folder, context.plan, context.state, trials.progressed);
    if (again.allowed) result.phase = Phase::kQueued;
    out->requeued = again.allowed;
    out->requeues = again.spent;
  }
  result.progressed = trials.progressed;
  const auto& select = context.plan.spec().ensemble->select;
  if (select && result.phase == Phase::kSucceeded) AddModels(*select, context, result);
  return result;
}

}  // namespace slipway::launcher
