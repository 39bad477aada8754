#include "launcher/run_folder/attempt_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/error.h"
#include "launcher/ranks/monitor/exit_record.h"
#include "launcher/ranks/monitor/line_follower.h"
#include "launcher/ranks/monitor/log_tail.h"
#include "launcher/ranks/monitor/pattern_metrics.h"
#include "launcher/ranks/shim/protocol.h"

namespace slipway::launcher {
namespace fs = std::filesystem;

namespace {

constexpr std::string_view kAttempt = "attempt-";

/// 3 of .../attempt-3; 0 of any other folder.
int NumberOfAttempt(const fs::path& directory) {
  const auto name = directory.filename().string();
  return name.starts_with(kAttempt) ? std::atoi(name.c_str() + kAttempt.size()) : 0;
}

}  // namespace

std::int64_t FirstCountedStep(const fs::path& directory) {
  for (int earlier = NumberOfAttempt(directory) - 1; earlier > 0; --earlier) {
    const auto before = directory.parent_path() / fmt::format("{}{}", kAttempt, earlier);
    if (const auto last = ParseMetricsLine(LastLines(before / "metrics.jsonl", 1))) return last->step + 1;
  }
  return 0;
}

std::vector<MetricsLine> ReadMetrics(const fs::path& directory, const MetricsSpec& source) {
  std::vector<MetricsLine> metrics;
  std::optional<PatternMetrics> pattern;
  if (source.from == MetricsSource::kStdout) pattern.emplace(source.pattern, FirstCountedStep(directory));
  const auto file = pattern ? FileOfRank(shim::kLogName, directory, 0) : directory / "metrics.jsonl";
  MetricsReader reader;
  LineFollower(file, [&](std::string_view line) {
    if (pattern) {
      std::ranges::move(pattern->Take(line), std::back_inserter(metrics));
    } else if (auto found = reader.Read(line)) {
      metrics.push_back(std::move(*found));
    }
  }).Finish();
  return metrics;
}

int PlannedRanks(const Json& plan) {
  constexpr int kMost = 1 << 20;
  const auto ranks = plan.at("ranks").get<double>();
  if (ranks >= 1 && ranks <= kMost) return static_cast<int>(ranks);
  throw Error(ErrorKind::kEnvironment, fmt::format("a plan of {} ranks is damaged", ranks), "begin a new run");
}

std::vector<std::optional<ExitStatus>> ReadEnds(const fs::path& directory, int ranks) {
  std::vector<std::optional<ExitStatus>> ends;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto record = ReadExitRecord(directory, rank);
    ends.push_back(record ? std::optional(record->status) : std::nullopt);
  }
  return ends;
}

fs::path RankLog(const fs::path& directory, int rank) { return FileOfRank(shim::kLogName, directory, rank); }

std::optional<ExitStatus> ReadEnd(const fs::path& directory, int ranks) {
  ExitStatus end;
  for (const auto& status : ReadEnds(directory, ranks)) {
    if (!status) return {};
    if (!status->Success()) end = *status;
  }
  return end;
}

bool EndedOnFullDisk(const fs::path& directory, int ranks) {
  for (int rank = 0; rank < ranks; ++rank) {
    const auto record = ReadExitRecord(directory, rank);
    if (record && record->disk_full) return true;
  }
  return false;
}

std::optional<WallTime> TimeOfEnd(const fs::path& directory, int ranks) {
  std::optional<WallTime> latest;
  for (int rank = 0; rank < ranks; ++rank) {
    std::error_code error;
    const auto written = fs::last_write_time(FileOfRank(shim::kExitName, directory, rank), error);
    if (!error) latest = std::max(latest, std::optional(std::chrono::file_clock::to_sys(written)));
  }
  return latest;
}

}  // namespace slipway::launcher
