#include "launcher/run_folder/attempt_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>

#include "core/documents.h"
#include "core/error.h"
#include "core/lines.h"
#include "launcher/ranks/monitor/line_follower.h"
#include "launcher/ranks/monitor/log_tail.h"
#include "launcher/ranks/monitor/pattern_metrics.h"
#include "launcher/ranks/shim/ending.h"
#include "launcher/ranks/shim/protocol.h"

namespace slipway::launcher {
namespace fs = std::filesystem;

namespace {

fs::path RankFile(const char* format, const fs::path& directory, int rank) {
  char name[4096];
  std::snprintf(name, sizeof name, format, directory.c_str(), rank);
  return name;
}

/// What a shim has written of its program's end, see WriteExitRecord.
struct ExitRecord {
  ExitStatus status;
  bool disk_full = false;
};

std::optional<ExitRecord> ReadRecord(const fs::path& directory, int rank) {
  const auto text = ReadDocumentIfPresent(RankFile(shim::kExitName, directory, rank));
  if (!text || !text->ends_with('\n')) return {};
  LineWords words(std::string_view(*text).substr(0, text->size() - 1));
  ExitRecord record{{words.Take<int>(), words.Take<int>()}};
  if (!words.good()) return {};
  record.disk_full = words.rest() == shim::kDiskFull;
  return record.disk_full || words.AtEnd() ? std::optional(record) : std::nullopt;
}

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
  const auto file = pattern ? RankFile(shim::kLogName, directory, 0) : directory / "metrics.jsonl";
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
    const auto record = ReadRecord(directory, rank);
    ends.push_back(record ? std::optional(record->status) : std::nullopt);
  }
  return ends;
}

fs::path RankLog(const fs::path& directory, int rank) { return RankFile(shim::kLogName, directory, rank); }

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
    const auto record = ReadRecord(directory, rank);
    if (record && record->disk_full) return true;
  }
  return false;
}

std::optional<WallTime> TimeOfEnd(const fs::path& directory, int ranks) {
  std::optional<WallTime> latest;
  for (int rank = 0; rank < ranks; ++rank) {
    std::error_code error;
    const auto written = fs::last_write_time(RankFile(shim::kExitName, directory, rank), error);
    if (!error) latest = std::max(latest, std::optional(std::chrono::file_clock::to_sys(written)));
  }
  return latest;
}

}  // namespace slipway::launcher
