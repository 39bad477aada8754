#include "launcher/cli/commands/report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "launcher/cli/commands/find_run.h"
#include "launcher/cli/commands/metrics_progress.h"
#include "launcher/view/report_page.h"
#include "launcher/view/view_reader.h"

namespace slipway::launcher {
namespace {

std::vector<RunView> ReadAll(const std::vector<std::string>& selectors, Session& session) {
  std::vector<RunView> views;
  for (const auto& selector : selectors) {
    const auto folder = FindExperiment(session, selector);
    session.output.Progress(fmt::format("reading {}", folder.id()));
    MetricsProgress progress(session.output, folder);
    views.push_back(ViewReader(folder, progress.OnRead()).Read(Depth::kAnalysis));
  }
  return views;
}

std::filesystem::path FileFor(const ReportOptions& options, const std::vector<RunView>& views) {
  if (!options.out.empty()) return options.out;
  return views.size() == 1 ? std::filesystem::path(views.front().folder) / kReportName : kReportName;
}

}  // namespace

int Report(const ReportOptions& options, Session& session) {
  const auto views = ReadAll(options.runs.empty() ? std::vector<std::string>{"last"} : options.runs, session);
  const double made = UnixSeconds(SystemClock().Now());
  if (session.output.mode() == OutputMode::kJson) {
    session.output.Print({ViewDocument(views, made), "", ""});
    return 0;
  }
  const auto file = std::filesystem::absolute(FileFor(options, views));
  if (std::filesystem::is_directory(file)) {
    throw Error(ErrorKind::kUsage, fmt::format("'{}' is a folder", file.string()), "name a file: --out report.html");
  }
  WriteFileAtomically(file, ReportPage(views, made));
  for (const auto& view : views) {
    for (const auto& warning : view.warnings) session.output.Warn(fmt::format("{}: {}", view.run, warning));
  }
  session.output.Print(
      {Json(),
       fmt::format("written: {}\nopen it in a browser, or copy it anywhere: it needs nothing else", file.string()),
       file.string()});
  return 0;
}

}  // namespace slipway::launcher
