// `slipway trials ls|best|show|importance|pareto|select|throughput|enqueue|retry`.

#include <CLI/CLI.hpp>

#include "core/error.h"
#include "ensemble/analysis/selection.h"
#include "ensemble/model/records.h"
#include "launcher/cli/arguments.h"
#include "launcher/cli/choices.h"
#include "launcher/cli/commands/ensemble_target.h"
#include "launcher/cli/commands/find_run.h"
#include "launcher/cli/describe.h"
#include "launcher/cli/numbers.h"
#include "launcher/run/trials/open_book.h"
#include "launcher/run_folder/prepare.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {
namespace {

/// Trials of a lost run that still read as running are jobs, run elsewhere, or save. With a damaged state the book can
/// be read.
void WarnIfLost(const RunFolder& run, Output& output) try {
  const auto state = run.ReadState();
  if (state.phase == Phase::kLost) output.Warn("the run is lost: " + state.reason);
} catch (const Error& error) {
  output.Warn(error.message());
}

/// Errors: those of FindExperiment and RequireBook.
RunFolder RunWithBook(const std::string& selector, Session& session) {
  auto run = FindExperiment(session, selector);
  WarnIfLost(run, session.output);
  RequireBook(run);
  return run;
}

/// The trial commands work on the folder of one run.
template <class Options, class Function>
void AddTrialsCommand(CLI::App* command, Arguments& arguments, Options& options, Function function) {
  AddRunSelector(command, arguments.trials_run);
  SetAction(command, arguments, [&arguments, &options, function](Session& session) {
    const auto run = RunWithBook(arguments.trials_run, session);
    options.run_folder = run.path();
    if constexpr (requires { options.selector; }) options.selector = run.selector();
    return function(options, session.output);
  });
}

/// The same for one trial of the run.
template <class Options, class Function>
void AddTrialCommand(CLI::App* command, Arguments& arguments, Options& options, Function function) {
  command->add_option("trial", arguments.trial_of_run.trial, "Number of the trial; may also come last")->required();
  AddRunSelector(command, arguments.trial_of_run.run);
  SetAction(command, arguments, [&arguments, &options, function](Session& session) {
    options.trial = TakeTrial(arguments.trial_of_run);
    options.run_folder = RunWithBook(arguments.trial_of_run.run, session).path();
    return function(options, session.output);
  });
}

void DescribeLooks(CLI::App& trials, Arguments& arguments) {
  auto* ls = AddCommand(trials, "ls", "List the trials, ranked", "  slipway trials ls last");
  ls->add_option("--state", arguments.trials_ls.state, "Only those in this state, e.g. complete, failed");
  ls->add_option("-n,--limit", arguments.trials_ls.limit, "Show at most so many")->check(kPositive);
  AddTrialsCommand(ls, arguments, arguments.trials_ls, TrialsLs);

  auto* best = AddCommand(trials, "best", "The leaderboard", "  slipway trials best last -n 3");
  best->add_option("-n,--limit", arguments.trials_best.limit, "Show at most so many")->check(kPositive);
  AddTrialsCommand(best, arguments, arguments.trials_best, TrialsBest);

  auto* show = AddCommand(trials, "show", "Everything of one trial", "  slipway trials show 7 last");
  AddTrialCommand(show, arguments, arguments.trials_show, TrialsShow);
}

void DescribeImportance(CLI::App& trials, Arguments& arguments) {
  auto& options = arguments.trials_importance;
  auto* importance = AddCommand(trials, "importance", "Which parameters matter for the objective",
                                "  slipway trials importance\n"
                                "  slipway trials importance last --pairs --json");
  importance->add_flag("--pairs", options.pairs, "Also what two parameters explain only together");
  AddTrialsCommand(importance, arguments, options, TrialsImportance);
}

void DescribePareto(CLI::App& trials, Arguments& arguments) {
  auto& options = arguments.trials_pareto;
  auto* pareto = AddCommand(trials, "pareto", "The trials that no other beats in all objectives",
                            "  slipway trials pareto\n  slipway trials pareto last --all -n 20");
  pareto->add_flag("--all", options.all, "All complete trials, front by front");
  pareto->add_option("-n,--limit", options.limit, "Show at most so many")->check(kPositive);
  AddTrialsCommand(pareto, arguments, options, TrialsPareto);
}

void DescribeSelect(CLI::App& trials, Arguments& arguments) {
  auto& options = arguments.trials_select;
  auto* select = AddCommand(trials, "select", "Which trials together predict best: writes ensemble.json",
                            "  slipway trials select                              # greedy, by log_loss or rmse\n"
                            "  slipway trials select last --method best --top 5\n"
                            "  slipway trials select last --by configuration      # its repeats, averaged, are one\n"
                            "  slipway trials select last --metric accuracy --top 4 --out ensemble.json");
  select->add_option("--by", options.by, "What a member is: trial, or configuration (the average of its repeats)")
      ->check(OneOf({"trial", "configuration"}))
      ->capture_default_str();
  select
      ->add_option("--method", options.method,
                   "greedy: the trial that improves the average most; best: by the objective")
      ->check(OneOf(AllWords<ensemble::SelectionMethod>()))
      ->capture_default_str();
  select->add_option("--top", options.top, "Most different members (default: 25 of greedy, 3 of best)")
      ->check(kPositive);
  select->add_option("--metric", options.metric, "What to score by (default: log_loss of classes, rmse of numbers)")
      ->check(OneOf(AllWords<ensemble::SelectionMetric>()));
  select->add_option("--candidates", options.candidates, "Choose among the best so many")
      ->check(kPositive)
      ->capture_default_str();
  select->add_option("--bags", options.bags, "Of greedy: choose so many times from random halves, and add up")
      ->check(kNotNegative);
  select->add_option("--out", options.out, "Write here (default: ensemble.json in the run folder)");
  AddTrialsCommand(select, arguments, options, TrialsSelect);
}

void DescribeThroughput(CLI::App& trials, Arguments& arguments) {
  auto& options = arguments.trials_throughput;
  auto* throughput = AddCommand(trials, "throughput", "Models per minute, as MLPerf HPC counts them (mllog.write)",
                                "  slipway trials throughput\n  slipway trials throughput last --results ~/results");
  throughput->add_option("--results", options.results, "Copy the logs into this new folder, as result_0.txt ...");
  AddTrialsCommand(throughput, arguments, options, TrialsThroughput);
}

/// With --failed and --outcome no trial is named: the one word without an option is the run then.
void TakeWords(const std::vector<std::string>& words, Arguments& arguments) {
  auto& options = arguments.trials_retry;
  const bool of_a_kind = options.failed || !options.outcome.empty();
  if (words.size() > (of_a_kind ? 1 : 2)) {
    throw Error(ErrorKind::kUsage, of_a_kind ? "a trial is named beside --failed or --outcome" : "too many words",
                "write for example: slipway trials retry 7 last, or slipway trials retry --failed last");
  }
  if (!words.empty() && of_a_kind) arguments.trials_run = words.front();
  if (words.empty() || of_a_kind) return;
  std::int64_t trial = 0;
  if (!CLI::detail::lexical_cast(words.front(), trial)) {
    throw Error(ErrorKind::kUsage, "'" + words.front() + "' is not the number of a trial",
                "write for example: slipway trials retry 7, or slipway trials retry --failed");
  }
  options.trial = trial;
  if (words.size() > 1) arguments.trials_run = words.back();
}

void DescribeRetry(CLI::App& trials, Arguments& arguments) {
  auto& options = arguments.trials_retry;
  auto* retry = AddCommand(trials, "retry", "Run failed, pruned or cancelled trials again",
                           "  slipway trials retry 7\n"
                           "  slipway trials retry 7 last\n"
                           "  slipway trials retry --failed last\n"
                           "  slipway trials retry --outcome no_objective");
  retry->add_option("trial", arguments.trials_retry_words, "Number of the trial; then the run (default: last)");
  retry->add_flag("--failed", options.failed, "All failed trials of the run");
  auto outcomes = AllWords<ensemble::Outcome>();
  std::erase(outcomes, "");
  retry->add_option("--outcome", options.outcome, "All trials whose latest attempt ended like this")
      ->check(OneOf(outcomes));
  SetAction(retry, arguments, [&arguments](Session& session) {
    TakeWords(arguments.trials_retry_words, arguments);
    const auto run = RunWithBook(arguments.trials_run, session);
    arguments.trials_retry.run_folder = run.path();
    arguments.trials_retry.selector = run.selector();
    return TrialsRetry(arguments.trials_retry, session.output);
  });
}

void DescribeRequests(CLI::App& trials, Arguments& arguments) {
  auto& point = arguments.trials_enqueue;
  auto* enqueue = AddCommand(trials, "enqueue", "Let a configuration of yours be the next trial",
                             "  slipway trials enqueue -p lr=0.01 -p optimizer=adam\n"
                             "  slipway trials enqueue last -p batch_size=64     # the rest is drawn at random");
  enqueue->add_option("-p,--parameter", point.parameters, "name=value; may be given several times")
      ->required()
      ->allow_extra_args(false);
  AddRunSelector(enqueue, arguments.trials_run);
  SetAction(enqueue, arguments, [&arguments](Session& session) {
    const auto run = RunWithBook(arguments.trials_run, session);
    auto& options = arguments.trials_enqueue;
    options.run_folder = run.path();
    options.selector = run.selector();
    options.planned_space = [&run] { return OptionsOfEnsemble(ReplanRun(run)).space; };
    return TrialsEnqueue(options, session.output);
  });

  DescribeRetry(trials, arguments);
}

}  // namespace

void DescribeTrialsCommands(CLI::App& app, Arguments& arguments) {
  auto* trials = AddCommand(app, "trials", "Look at the trials of an ensemble",
                            "  slipway trials best\n  slipway trials ls last --state failed\n  slipway trials show 7");
  trials->require_subcommand(1);

  DescribeLooks(*trials, arguments);
  DescribeImportance(*trials, arguments);
  DescribePareto(*trials, arguments);
  DescribeSelect(*trials, arguments);
  DescribeThroughput(*trials, arguments);
  DescribeRequests(*trials, arguments);
  DescribeTrialsExchange(*trials, arguments);
  DescribeAskTell(*trials, arguments);
}

}  // namespace slipway::launcher
