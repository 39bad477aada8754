// `slipway trials export`.

#include <CLI/CLI.hpp>

#include "launcher/cli/arguments.h"
#include "launcher/cli/describe.h"
#include "launcher/run/run_folder.h"

namespace slipway::launcher {

void DescribeTrialsExchange(CLI::App& trials, Arguments& arguments) {
  auto* out = AddCommand(trials, "export", "Write the trials for other programs",
                         "  slipway trials export last > trials.csv\n"
                         "  slipway trials export last --format jsonl --metrics --out trials.jsonl\n"
                         "  slipway trials export last --format optuna --out study.db");
  auto& options = arguments.trials_export;
  AddRunSelector(out, arguments.trials_run);
  out->add_option("--format", options.format, "csv, jsonl or optuna (an SQLite file for Optuna 3)")
      ->check(CLI::IsMember({"csv", "jsonl", "optuna"}))
      ->capture_default_str();
  out->add_option("-o,--out", options.out, "Write this file (default: stdout)");
  out->add_flag("--force", options.force, "Replace the file when it exists");
  out->add_flag("--metrics", options.metrics, "jsonl: every reported value too");
  out->callback([&] {
    arguments.command = [&](Session& session) {
      options.run_folder = FindRun(session.runs_directory, arguments.trials_run).path();
      return TrialsExport(options, session.output);
    };
  });
}

}  // namespace slipway::launcher
