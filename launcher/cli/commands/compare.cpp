#include "launcher/cli/commands/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "launcher/cli/commands/find_run.h"
#include "launcher/cli/commands/metrics_progress.h"
#include "launcher/view/compare_reader.h"
#include "launcher/view/report_page.h"

namespace slipway::launcher {
namespace {

std::vector<RunFolder> FoldersOf(const CompareOptions& options, Session& session) {
  std::vector<RunFolder> folders;
  for (const auto& selector : options.runs) {
    auto folder = FindExperiment(session, selector);
    const bool is_new = std::ranges::none_of(folders, [&](const auto& each) { return each.path() == folder.path(); });
    if (is_new) folders.push_back(std::move(folder));
  }
  if (folders.size() < 2) {
    throw Error(ErrorKind::kUsage, "a comparison needs two different runs", "name them: slipway compare RUN RUN");
  }
  return folders;
}

void WritePage(const std::filesystem::path& file, std::vector<ComparedRun>& runs) {
  std::vector<RunView> views;
  for (auto& run : runs) views.push_back(std::move(run.view));
  WriteFileAtomically(file, ReportPage(views, UnixSeconds(SystemClock().Now())));
}

}  // namespace

int CompareRuns(const CompareOptions& options, Session& session) {
  std::vector<ComparedRun> runs;
  const auto folders = FoldersOf(options, session);
  for (const auto& folder : folders) {
    session.output.Progress(fmt::format("reading {}", folder.id()));
    MetricsProgress progress(session.output, folder, /*times=*/2);
    runs.push_back(ReadForComparison(folder, progress.OnRead()));
  }
  session.output.Progress("comparing the check sums");
  CompareSumsWithFirst(folders, runs);
  session.output.Progress("");
  const auto comparison = Compare(runs);
  for (const auto& run : runs) {
    for (const auto& warning : run.view.warnings) session.output.Warn(fmt::format("{}: {}", run.view.run, warning));
  }
  for (const auto& warning : comparison.warnings) session.output.Warn(warning);
  if (!options.html.empty()) WritePage(options.html, runs);
  const bool broken =
      std::ranges::any_of(comparison.bits, [](const BitsOfPair& bits) { return bits.expected && bits.parts(); });
  session.output.Print({ToJson(comparison), Describe(comparison), std::string(WordOf(OutcomeOf(comparison)))});
  return broken ? static_cast<int>(ErrorKind::kFailed) : 0;
}

}  // namespace slipway::launcher
