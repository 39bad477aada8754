// Commands that show how something is, and why.

#include <CLI/CLI.hpp>

#include "launcher/cli/arguments.h"
#include "launcher/cli/describe.h"

namespace slipway::launcher {
namespace {

void DescribeReasons(CLI::App& app, Arguments& arguments) {
  auto* doctor = AddCommand(app, "doctor", "Look whether this machine is in order; exit status 1 when it is not",
                            "  slipway doctor\n  slipway doctor exp.yaml --set launch.ranks_per_node=4\n"
                            "  slipway doctor --json | jq '.checks[].findings[] | select(.grade != \"ok\")'\n"
                            "  salloc -n 2 slipway doctor --srun");
  AddSpecOptions(doctor, arguments);
  doctor->get_option("spec")->required(false);
  doctor->add_flag("--srun", arguments.doctor.try_srun,
                   "In an allocation: start two ranks by srun --mpi=pmix and --mpi=pmi2, too");
  SetAction(doctor, arguments, [&](Session& session) {
    arguments.doctor.selection = SelectionOf(arguments);
    return Doctor(arguments.doctor, session);
  });

  auto* explain = AddCommand(app, "explain", "Say why a run waits, or why it ended, and what can be done",
                             "  slipway explain\n  slipway explain fash --json | jq -r '.next[]'");
  AddRunSelector(explain, arguments.explain.run);
  SetAction(explain, arguments, [&](Session& session) { return Explain(arguments.explain, session); });
}

void DescribeViews(CLI::App& app, Arguments& arguments) {
  auto* watch =
      AddCommand(app, "watch", "Show a run while it goes on, full screen: progress, curves, trials, ranks, logs",
                 "  slipway watch\n  slipway watch fash\n  slipway watch all");
  watch->add_option("run", arguments.watch.run,
                    "Run: id, unique prefix, folder, last (the default), or all for a list");
  SetAction(watch, arguments, [&](Session& session) { return Watch(arguments.watch, session); });

  auto* report = AddCommand(app, "report", "Write one HTML page with the curves, trials, times and failures of runs",
                            "  slipway report\n  slipway report fash-a fash-b --out compared.html\n"
                            "  slipway report --json | jq '.runs[0].accounting'");
  report->add_option("run", arguments.report.runs, "Runs: ids, unique prefixes, folders, or last (the default)");
  report->add_option("-o,--out", arguments.report.out, "Write this file (default: report.html in the run folder)");
  SetAction(report, arguments, [&](Session& session) { return Report(arguments.report, session); });

  auto* serve = AddCommand(app, "serve", "Show all runs in a browser, live; only who has the URL can read them",
                           "  slipway serve\n  slipway serve --port 8080\n  slipway serve --json | jq -r .url");
  serve->add_option("--port", arguments.serve.port, "Listen on this port; 0: a free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  serve->add_option("--host", arguments.serve.host, "Listen on this address; others than loopback are not encrypted")
      ->capture_default_str();
  SetAction(serve, arguments, [&](Session& session) { return Serve(arguments.serve, session); });
}

void DescribeMetricExport(CLI::App& app, Arguments& arguments) {
  auto* exported = AddCommand(app, "export", "Write the metrics of a run for other tools",
                              "  slipway export --tensorboard tb\n  slipway export fash --mlflow mlruns\n"
                              "  slipway export fash --csv metrics.csv --jsonl metrics.jsonl");
  auto& options = arguments.exported;
  AddRunSelector(exported, options.run);
  exported->add_option("--tensorboard", options.tensorboard,
                       "Event files with scalars and hyperparameters in this folder");
  exported->add_option("--mlflow", options.mlflow, "Into a file store of MLflow: its folder, mostly mlruns");
  exported->add_option("--csv", options.csv, "All values, as comma-separated values");
  exported->add_option("--jsonl", options.jsonl, "All values, as JSON lines");
  exported->add_flag("--force", options.force, "Also write where something else is");
  SetAction(exported, arguments, [&](Session& session) { return Export(options, session); });
}

}  // namespace

void DescribeDiagnosis(CLI::App& app, Arguments& arguments) {
  DescribeReasons(app, arguments);
  DescribeViews(app, arguments);
  DescribeMetricExport(app, arguments);
}

}  // namespace slipway::launcher
