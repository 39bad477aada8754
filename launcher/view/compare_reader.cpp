#include "launcher/view/compare_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/documents.h"
#include "core/error.h"
#include "core/files.h"
#include "core/metrics_line.h"
#include "launcher/ranks/monitor/line_follower.h"
#include "launcher/view/view_reader.h"

namespace slipway::launcher {
namespace {

/// False when there were more values than are compared.
bool ReadValues(const RunFolder& folder, int attempts, StepValues& values, const BytesRead& on_read) {
  std::size_t count = 0;
  for (int attempt = 1; attempt <= attempts; ++attempt) {
    MetricsReader reader;
    const auto take = [&](std::string_view text) {
      const auto line = count < kMostComparedValues ? reader.Read(text) : std::nullopt;
      if (!line) return;
      for (const auto& [name, value] : line->values) values[line->step][name] = value;
      count += line->values.size();
    };
    LineFollower(folder.attempt(attempt) / "metrics.jsonl", take, on_read).Finish();
  }
  return count < kMostComparedValues;
}

/// Attempts whose folders are there. A damaged state may count any number of them.
RunWithSums FoldersWithSums(const RunFolder& folder, const RunView& view) {
  constexpr int kMostAttempts = 10'000;
  RunWithSums run{view.run, {}};
  for (int attempt = 1; attempt <= std::min(view.attempt, kMostAttempts); ++attempt) {
    const auto path = folder.attempt(attempt);
    if (IsDirectory(path)) run.attempts.push_back(path);
  }
  return run;
}

}  // namespace

void CompareSumsWithFirst(std::span<const RunFolder> folders, std::span<ComparedRun> runs) {
  if (runs.front().view.ensemble) return;
  const auto first = FoldersWithSums(folders.front(), runs.front().view);
  for (std::size_t i = 1; i < runs.size(); ++i) {
    if (!runs[i].view.ensemble) runs[i].sums = CompareSums(first, FoldersWithSums(folders[i], runs[i].view));
  }
}

ComparedRun ReadForComparison(const RunFolder& folder, const BytesRead& on_read) {
  ComparedRun run;
  run.view = ViewReader(folder, on_read).Read(Depth::kAnalysis);
  try {
    run.plan = Json::parse(ReadDocument(folder.plan_file()));
  } catch (const std::exception&) {  // the view has a warning
    run.plan = Json();
  }
  if (!run.view.ensemble && !ReadValues(folder, run.view.attempt, run.values, on_read)) {
    run.view.warnings.push_back(fmt::format("only the first {} values are compared", kMostComparedValues));
  }
  return run;
}

}  // namespace slipway::launcher
