// `slipway trials export|import`.

#include <CLI/CLI.hpp>

#include "launcher/cli/arguments.h"
#include "launcher/cli/choices.h"
#include "launcher/cli/commands/find_run.h"
#include "launcher/cli/describe.h"
#include "launcher/cli/numbers.h"
#include "launcher/run/trials/open_book.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {
namespace {

void DescribeExport(CLI::App& trials, Arguments& arguments) {
  auto* out = AddCommand(trials, "export", "Write the trials for other programs",
                         "  slipway trials export last > trials.csv\n"
                         "  slipway trials export last --best 10 > best.csv\n"
                         "  slipway trials export last --format jsonl --metrics --out trials.jsonl\n"
                         "  slipway trials export last --format optuna --out study.db");
  auto& options = arguments.trials_export;
  AddRunSelector(out, arguments.trials_run);
  out->add_option("--format", options.format, "csv, jsonl or optuna (an SQLite file for Optuna 3)")
      ->check(OneOf({"csv", "jsonl", "optuna"}))
      ->capture_default_str();
  out->add_option("-o,--out", options.out, "Write this file (default: stdout)");
  out->add_flag("--force", options.force, "Replace the file when it exists");
  out->add_option("--best", options.best, "Only so many, best first (csv, jsonl)")->check(kPositive);
  out->add_flag("--metrics", options.metrics, "jsonl: every reported value too");
  SetAction(out, arguments, [&](Session& session) {
    const auto run = FindExperiment(session, arguments.trials_run);
    RequireBook(run);
    options.run_folder = run.path();
    return TrialsExport(options, session.output);
  });
}

void DescribeImport(CLI::App& trials, Arguments& arguments) {
  auto* in = AddCommand(trials, "import", "Import the trials of an Optuna study into an ensemble",
                        "  slipway trials import exp.yaml study.db       # a new run, which 'slipway resume' begins\n"
                        "  slipway trials import last study.db --study first");
  auto& options = arguments.trials_import;
  in->add_option("target", options.target, "An experiment, which gets a run folder, or a run")->required();
  in->add_option("file", options.file, "An SQLite file that Optuna 3 has written")->required();
  in->add_option("--study", options.study, "Name of the study (default: the only one)");
  SetAction(in, arguments, [&](Session& session) { return TrialsImport(options, session); });
}

}  // namespace

void DescribeTrialsExchange(CLI::App& trials, Arguments& arguments) {
  DescribeExport(trials, arguments);
  DescribeImport(trials, arguments);
}

}  // namespace slipway::launcher
