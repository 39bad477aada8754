#include "launcher/cli/commands/report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/environment.h"
#include "core/error.h"
#include "core/files.h"
#include "launcher/cli/commands/find_run.h"
#include "launcher/cli/commands/metrics_progress.h"
#include "launcher/view/report_page.h"
#include "launcher/view/view_reader.h"
#include "launcher/view/workflow_page.h"

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

void RequireFile(const std::filesystem::path& file) {
  if (!std::filesystem::is_directory(file)) return;
  throw Error(ErrorKind::kUsage, fmt::format("'{}' is a folder", file.string()), "name a file: --out report.html");
}

/// The outputs of a workflow step are published under another path: its link will lead there.
std::filesystem::path LastingPath(const std::filesystem::path& file) {
  const auto step = Environment::Inherited().Get("SLIPWAY_STEP_DIR");
  if (!step) return file;
  const auto below = file.lexically_relative(std::filesystem::path(*step) / "prepared");
  return below.empty() || *below.begin() == ".." ? file : std::filesystem::path(*step) / "result" / below;
}

void SayWritten(const std::filesystem::path& file, std::string_view more, Session& session) {
  const auto path = LastingPath(file).string();
  session.output.Print({Json(), fmt::format("written: {}\nopen it in a browser{}", path, more), path});
}

/// The steps of a workflow, with links to files of the run.
int ReportWorkflow(const RunFolder& run, const ReportOptions& options, Session& session) {
  const auto look = LookAtWorkflow(run);
  if (session.output.mode() == OutputMode::kJson) {
    session.output.Print({WorkflowDocument(run, look), "", ""});
    return 0;
  }
  const auto file = std::filesystem::absolute(options.out.empty() ? run.path() / kReportName : options.out);
  RequireFile(file);
  const auto directory = file.parent_path();
  const auto links = [&](const StepRow& row, const std::filesystem::path& of_step) {
    return FileLinks(run, row, of_step, directory);
  };
  WriteFileAtomically(file, WorkflowPage(run, look, {links, false}));
  SayWritten(file, "; its links lead to files of the run", session);
  return 0;
}

}  // namespace

int Report(const ReportOptions& options, Session& session) {
  const auto selectors = options.runs.empty() ? std::vector<std::string>{"last"} : options.runs;
  if (selectors.size() == 1) {
    const auto run = FindRun(session, selectors.front());
    if (IsWorkflowRun(run)) return ReportWorkflow(run, options, session);
  }
  const auto views = ReadAll(selectors, session);
  const double made = UnixSeconds(SystemClock().Now());
  if (session.output.mode() == OutputMode::kJson) {
    session.output.Print({ViewDocument(views, made), "", ""});
    return 0;
  }
  const auto file = std::filesystem::absolute(FileFor(options, views));
  RequireFile(file);
  WriteFileAtomically(file, ReportPage(views, made));
  for (const auto& view : views) {
    for (const auto& warning : view.warnings) session.output.Warn(fmt::format("{}: {}", view.run, warning));
  }
  SayWritten(file, ", or copy it anywhere: it needs nothing else", session);
  return 0;
}

}  // namespace slipway::launcher
