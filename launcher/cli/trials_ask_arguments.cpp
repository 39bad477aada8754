// `slipway trials new|serve|ask|tell`.

#include <unistd.h>

#include <CLI/CLI.hpp>

#include "launcher/cli/arguments.h"
#include "launcher/cli/describe.h"
#include "launcher/cli/numbers.h"

namespace slipway::launcher {
namespace {

void AddLostAfter(CLI::App* command, std::optional<Seconds>& lost_after) {
  command->add_option_function<std::string>(
      "--lost-after",
      [&lost_after](const std::string& text) {
        lost_after = ParseDuration(text);
        if (!lost_after) throw CLI::ValidationError("'" + text + "' is not a duration: write it like 90s or 1h30m");
      },
      "Give out a trial again after this long without a report, e.g. 2h (default: never)");
}

void DescribeServe(CLI::App& trials, Arguments& arguments) {
  auto* serve = AddCommand(trials, "serve", "Give trials to a program that runs them itself: JSON lines on both sides",
                           "  echo '{\"do\":\"ask\"}' | slipway trials serve exp.yaml\n"
                           "  slipway trials serve last");
  serve->add_option("target", arguments.trials_serve.target, "An experiment, which gets a run folder, or a run")
      ->capture_default_str();
  AddLostAfter(serve, arguments.trials_serve.lost_after);
  SetAction(serve, arguments,
            [&](Session& session) { return TrialsServe(arguments.trials_serve, STDIN_FILENO, session); });
}

void DescribeAsk(CLI::App& trials, Arguments& arguments) {
  auto* ask = AddCommand(trials, "ask", "Take one trial, to run it by other means",
                         "  slipway trials ask last --json   # exit status 75: none now, 1: the ensemble is over");
  AddRunSelector(ask, arguments.trials_ask.run);
  AddLostAfter(ask, arguments.trials_ask.lost_after);
  SetAction(ask, arguments, [&](Session& session) { return TrialsAsk(arguments.trials_ask, session); });
}

void DescribeTell(CLI::App& trials, Arguments& arguments) {
  auto& options = arguments.trials_tell;
  auto* tell = AddCommand(trials, "tell", "Report the result of a trial that was asked for",
                          "  slipway trials tell last 7 --value 0.93\n"
                          "  slipway trials tell last 7 --failed 'out of memory'");
  auto& named = arguments.trial_of_run;
  tell->add_option("run", named.run, "Run: full id, unique prefix, 'last', or the path of its folder")->required();
  tell->add_option("trial", named.trial, "Number of the trial; may also come first")->required();
  auto* value = tell->add_option("--value", options.values, "Its result; repeat it for several objectives")
                    ->allow_extra_args(false)
                    ->take_all();
  auto* failed = tell->add_option("--failed", options.failed, "It failed, for this reason");
  auto* pruned = tell->add_flag("--pruned", options.pruned, "It was not worth going on");
  value->excludes(failed)->excludes(pruned);
  failed->excludes(pruned);
  tell->add_option("--attempt", options.attempt, "Refuse unless it is at this attempt")->check(kPositive);
  SetAction(tell, arguments, [&](Session& session) {
    options.trial = TakeTrial(named);
    options.run = named.run;
    return TrialsTell(options, session);
  });
}

}  // namespace

void DescribeAskTell(CLI::App& trials, Arguments& arguments) {
  auto* make = AddCommand(trials, "new", "Make the run folder of an ensemble; starts nothing",
                          "  run=$(slipway -q trials new exp.yaml)\n  slipway trials ask \"$run\"");
  AddSpecOptions(make, arguments);
  SetAction(make, arguments, [&](Session& session) { return TrialsNew(SelectionOf(arguments), session); });
  DescribeServe(trials, arguments);
  DescribeAsk(trials, arguments);
  DescribeTell(trials, arguments);
}

}  // namespace slipway::launcher
