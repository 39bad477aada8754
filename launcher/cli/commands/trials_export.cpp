#include "launcher/cli/commands/trials_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/json_text.h"
#include "core/output.h"
#include "ensemble/exchange/csv.h"
#include "ensemble/exchange/optuna.h"
#include "ensemble/exchange/optuna_file.h"
#include "ensemble/space/space.h"
#include "launcher/cli/commands/trials_leaderboard.h"
#include "launcher/trials/trials_view.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

/// Takes one line after the other, without its end, and the same as a document where it has one.
using LineSink = std::function<void(const Json& document, const std::string& line)>;

void CheckOptions(const TrialsExportOptions& options, const Output& output) {
  if (options.best && options.format == "optuna") {
    throw Error(ErrorKind::kUsage, "--best goes with --format csv and jsonl only",
                "an Optuna study has all trials: leave it out");
  }
  if (options.metrics && options.format != "jsonl") {
    throw Error(ErrorKind::kUsage, "--metrics goes with --format jsonl only",
                options.format == "csv" ? "a table has one row for each trial: leave it out"
                                        : "an Optuna study has the reports of the objective anyway: leave it out");
  }
  if (options.out) return;
  if (options.format == "optuna") {
    throw Error(ErrorKind::kUsage, "an Optuna study is a file", "name it with --out FILE");
  }
  if (options.format == "csv" && output.mode() == OutputMode::kJson) {
    throw Error(ErrorKind::kUsage, "--json and a table on stdout exclude each other",
                "use --format jsonl, or write the table with --out FILE");
  }
}

void CheckFile(const TrialsExportOptions& options) {
  std::error_code none;
  if (fs::equivalent(*options.out, options.run_folder / ensemble::kBookName, none)) {
    throw Error(ErrorKind::kUsage, fmt::format("'{}' is the trial book itself", options.out->string()),
                "name another file");
  }
  if (options.force || !fs::exists(fs::symlink_status(*options.out))) return;
  throw Error(ErrorKind::kUsage, fmt::format("'{}' exists already", options.out->string()),
              "name another file, or replace it with --force");
}

void ExportCsv(const TrialsView& view, const LineSink& sink) {
  const ensemble::TrialsCsv table(view.study, ensemble::StoredSpace(view.study));
  sink(nullptr, table.header());
  for (const auto& ranked : view.trials) sink(nullptr, table.Row(ranked.trial, ranked.rank));
}

void ExportJsonLines(TrialsView& view, bool with_metrics, const LineSink& sink) {
  for (const auto& ranked : view.trials) {
    Json document = TrialDocument(ranked, view.study, view.now);
    document["attempts"] = AttemptsDocument(view.book.Attempts(ranked.trial.number));
    if (with_metrics) document["metrics"] = MetricsDocument(view.book.Metrics(ranked.trial.number));
    sink(document, JsonText(document));
  }
}

void ExportLines(TrialsView& view, const TrialsExportOptions& options, const LineSink& sink) {
  options.format == "csv" ? ExportCsv(view, sink) : ExportJsonLines(view, options.metrics, sink);
}

void ExportOptuna(TrialsView& view, const TrialsExportOptions& options, const DurableFile& file) {
  const auto space = ensemble::StoredSpace(view.study);
  const auto name = options.run_folder.filename().string();
  ensemble::OptunaFileWriter writer(file.temporary(), *options.out, ensemble::ToOptuna(view.study, name));
  for (const auto& [trial, rank, value] : view.trials) {
    writer.Add(ensemble::ToOptuna(trial, view.study, space, view.book.Metrics(trial.number)));
  }
  writer.Finish();
}

void PrintLines(TrialsView& view, const TrialsExportOptions& options, Output& output) {
  ExportLines(view, options, [&](const Json& document, const std::string& line) {
    if (output.mode() == OutputMode::kQuiet) {
      output.Print({document, {}, line});
    } else {
      output.Stream(document, line);
    }
  });
}

void WriteExport(TrialsView& view, const TrialsExportOptions& options) {
  DurableFile file(*options.out);
  if (options.format == "optuna") {
    ExportOptuna(view, options, file);
  } else {
    ExportLines(view, options, [&](const Json&, const std::string& line) { file.Write(line + "\n"); });
  }
  file.Commit();
}

}  // namespace

int TrialsExport(const TrialsExportOptions& options, Output& output) {
  CheckOptions(options, output);
  if (options.out) CheckFile(options);
  TrialsView view = OpenTrials(options.run_folder);
  if (options.best) {
    view.trials = TrialsOf(view, BestRows(view, *options.best));
  } else {
    std::ranges::sort(view.trials, {}, [](const RankedTrial& ranked) { return ranked.trial.number; });
  }
  if (!options.out) {
    PrintLines(view, options, output);
    return 0;
  }
  WriteExport(view, options);
  const std::string file = options.out->string();
  output.Print({Json{{"schema", "slipway.trials.export/1"},
                     {"format", options.format},
                     {"file", file},
                     {"trials", view.trials.size()}},
                fmt::format("{} trials written to '{}'", view.trials.size(), file), file});
  return 0;
}

}  // namespace slipway::launcher
