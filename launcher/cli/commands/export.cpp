#include "launcher/cli/commands/export.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "launcher/cli/commands/find_run.h"
#include "launcher/cli/commands/metrics_progress.h"
#include "launcher/exports/metric_tables.h"
#include "launcher/exports/mlflow_files.h"
#include "launcher/exports/output_folder.h"
#include "launcher/exports/tensorboard_files.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

/// Writes one format after the other and notes what was written.
class Exporter {
 public:
  Exporter(const ExportOptions& options, const RunFolder& folder, BytesRead on_read)
      : foreign_(options.force ? Foreign::kReplace : Foreign::kRefuse), folder_(folder), run_(ReadExportedRun(folder)) {
    run_.on_read = std::move(on_read);
  }

  void Tensorboard(const std::string& to) {
    if (to.empty()) return;
    OutputFolder place(to, "tensorboard", folder_.id(), foreign_);
    WriteTensorboard(folder_, run_, place.path());
    place.Commit();
    Note("tensorboard", to, fmt::format("look at it: tensorboard --logdir {}", to));
  }

  void Mlflow(const std::string& to) {
    if (to.empty()) return;
    const int runs = WriteMlflow(folder_, run_, to, foreign_);
    Note("mlflow", to, fmt::format("{} runs; look at them: mlflow ui --backend-store-uri {}", runs, to));
  }

  void Csv(const std::string& to) {
    if (!to.empty()) Note("csv", to, fmt::format("{} values", WriteCsv(folder_, run_, to, foreign_)));
  }

  void JsonLines(const std::string& to) {
    if (!to.empty()) Note("jsonl", to, fmt::format("{} values", WriteJsonLines(folder_, run_, to, foreign_)));
  }

  Json document = Json::array();
  std::string text;
  std::string brief;

 private:
  void Note(const char* format, const std::string& to, const std::string& remark) {
    const auto path = fs::absolute(to).lexically_normal().string();
    document.push_back(Json{{"format", format}, {"path", path}});
    text += fmt::format("written: {}\n  {}\n", path, remark);
    brief += path + "\n";
  }

  Foreign foreign_;
  const RunFolder& folder_;
  ExportedRun run_;
};

std::uint64_t FormatsIn(const ExportOptions& options) {
  std::uint64_t formats = 0;
  for (const auto& to : {options.tensorboard, options.mlflow, options.csv, options.jsonl})
    formats += to.empty() ? 0 : 1;
  return formats;
}

}  // namespace

int Export(const ExportOptions& options, Session& session) {
  if ((options.tensorboard + options.mlflow + options.csv + options.jsonl).empty()) {
    throw Error(ErrorKind::kUsage, "no format is named",
                "give at least one of --tensorboard DIR, --mlflow DIR, --csv FILE and --jsonl FILE");
  }
  const auto folder = FindExperiment(session, options.run);
  session.output.Progress(fmt::format("reading {}", folder.id()));
  MetricsProgress progress(session.output, folder, FormatsIn(options));
  Exporter exporter(options, folder, progress.OnRead());
  exporter.Tensorboard(options.tensorboard);
  exporter.Mlflow(options.mlflow);
  exporter.Csv(options.csv);
  exporter.JsonLines(options.jsonl);
  session.output.Progress("");
  session.output.Print({Json{{"schema", "slipway.export/1"}, {"run", folder.id()}, {"written", exporter.document}},
                        exporter.text, exporter.brief});
  return 0;
}

}  // namespace slipway::launcher
