#include "launcher/run/ensemble_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/error.h"
#include "ensemble/manager.h"
#include "launcher/run/local_trial_runner.h"

namespace slipway::launcher {
namespace {

/// As many trials at a time as the machine has cores for.
int ParallelTrials(const Spec& spec) {
  if (spec.ensemble->parallel) return *spec.ensemble->parallel;
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return std::max(1, cores / (spec.launch.ranks() * spec.launch.cpus_per_rank));
}

std::int64_t GridTrials(const ensemble::EnsembleOptions& options) {
  ensemble::SamplerSettings settings{"grid", options.seed, options.grid_points};
  settings.points = options.points;
  return ensemble::GridSize(settings, options.space);
}

ensemble::EnsembleOptions OptionsFor(const Plan& plan) {
  const auto& spec = *plan.spec().ensemble;
  ensemble::EnsembleOptions options;
  options.objective = spec.objective.metric;
  options.goal = spec.objective.goal == Goal::kMaximize ? ensemble::Goal::kMaximize : ensemble::Goal::kMinimize;
  options.space = ensemble::MakeSearchSpace(spec.space, spec.constraints);
  options.points = spec.points;
  options.parallel = ParallelTrials(plan.spec());
  options.sampler = spec.sampler;
  options.seed = spec.seed;
  options.trials = spec.trials ? *spec.trials : GridTrials(options);
  options.retries = plan.spec().resilience.max_restarts;
  options.max_failures = spec.max_failures;
  options.spec_hash = plan.document.spec_hash;
  return options;
}

/// Tells the user how the trials go.
class Reporter final : public ensemble::EnsembleObserver {
 public:
  Reporter(Output& output, std::int64_t trials) : output_(output), trials_(trials) {}

  void AttemptStarted(const ensemble::TrialRecord& trial) override {
    ++running_;
    ShowProgress();
    if (trial.attempts > 1)
      output_.Say(fmt::format("trial {} starts again (attempt {})", trial.number, trial.attempts));
  }

  void MetricReported(const ensemble::MetricRecord&) override {}

  void AttemptEnded(const ensemble::TrialRecord& trial, ensemble::TrialState attempt,
                    const ensemble::TrialRecord* best) override {
    --running_;
    if (ensemble::IsFinal(trial.state)) ++ended_;
    if (best != nullptr) best_ = fmt::format("best {:.6g} (trial {})", *best->objective, best->number);
    // Thousands of short trials would only scroll by: the progress line tells enough.
    if (trials_ <= kTrialsSaidOneByOne) output_.Say(Describe(trial, attempt));
    ShowProgress();
  }

 private:
  static constexpr std::int64_t kTrialsSaidOneByOne = 200;

  static std::string Describe(const ensemble::TrialRecord& trial, ensemble::TrialState attempt) {
    auto text = fmt::format("trial {:>3}  {:<9}", trial.number, ensemble::TrialStateName(attempt));
    if (trial.objective) text += fmt::format("  {:.6g}", *trial.objective);
    text += "  " + ensemble::Describe(trial.parameters);
    if (!trial.reason.empty()) text += "  " + trial.reason.substr(0, trial.reason.find('\n'));
    return text;
  }

  void ShowProgress() {
    output_.Progress(fmt::format("{} of {} trials ended, {} running{}{}", ended_, trials_, running_,
                                 best_.empty() ? "" : ", ", best_));
  }

  Output& output_;
  std::int64_t trials_;
  int running_ = 0;
  int ended_ = 0;
  std::string best_;
};

Json SummaryDocument(const ensemble::EnsembleSummary& summary) {
  Json best = nullptr;
  if (summary.best) {
    best = Json{{"trial", summary.best->number},
                {"objective", *summary.best->objective},
                {"parameters", ensemble::ToJson(summary.best->parameters)}};
  }
  return Json{{"trials",
               {{"complete", summary.complete},
                {"failed", summary.failed},
                {"pruned", summary.pruned},
                {"waiting", summary.waiting}}},
              {"best", best}};
}

RunResult ResultOf(const ensemble::EnsembleSummary& summary, const ensemble::EnsembleOptions& options) {
  RunResult result;
  result.summary = SummaryDocument(summary);
  result.summary_text = fmt::format("  {} trials complete, {} failed", summary.complete, summary.failed);
  if (summary.best) {
    result.summary_text += fmt::format("\n  best {} {:.6g}  trial {}  {}", options.objective, *summary.best->objective,
                                       summary.best->number, ensemble::Describe(summary.best->parameters));
  }
  if (summary.interrupted) {
    result.phase = Phase::kCancelled;
    result.reason = "cancelled by the user";
  } else if (summary.too_many_failures) {
    result.reason = fmt::format("{} trials failed, more than max_failures", summary.failed);
  } else if (summary.complete == 0) {
    result.reason = fmt::format("none of {} trials succeeded", summary.failed);
  } else {
    result.phase = Phase::kSucceeded;
  }
  return result;
}

}  // namespace

RunResult CarryOutEnsemble(RunContext& context) {
  const auto options = OptionsFor(context.plan);
  auto book = ensemble::TrialBook::OpenForWriting(context.folder.path());
  ++context.state.attempt;
  context.state.phase = Phase::kRunning;
  context.commit("running");
  LocalTrialRunner runner(context);
  Reporter reporter(context.output, options.trials);
  const auto summary = ensemble::RunEnsemble(book, options, runner, reporter);
  book.Settle();
  return ResultOf(summary, options);
}

}  // namespace slipway::launcher
