#include "launcher/view/compare_reader.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/documents.h"
#include "core/error.h"
#include "core/metrics_line.h"
#include "launcher/ranks/monitor/line_follower.h"
#include "launcher/view/view_reader.h"

namespace slipway::launcher {
namespace {

/// False when there were more values than are compared.
bool ReadValues(const RunFolder& folder, int attempts, StepValues& values) {
  std::size_t count = 0;
  for (int attempt = 1; attempt <= attempts; ++attempt) {
    LineFollower file(folder.attempt(attempt) / "metrics.jsonl", [&](std::string_view text) {
      const auto line = count < kMostComparedValues ? ParseMetricsLine(text) : std::nullopt;
      if (!line) return;
      for (const auto& [name, value] : line->values) values[line->step][name] = value;
      count += line->values.size();
    });
    file.Finish();
  }
  return count < kMostComparedValues;
}

}  // namespace

ComparedRun ReadForComparison(const RunFolder& folder) {
  ComparedRun run;
  run.view = ViewReader(folder).Read(Depth::kAnalysis);
  try {
    run.plan = Json::parse(ReadDocument(folder.plan_file()));
  } catch (const std::exception&) {  // the view has a warning
    run.plan = Json();
  }
  if (!run.view.ensemble && !ReadValues(folder, run.view.attempt, run.values)) {
    run.view.warnings.push_back(fmt::format("only the first {} values are compared", kMostComparedValues));
  }
  return run;
}

}  // namespace slipway::launcher
