#include "launcher/trials/throughput.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/mllog.h"

namespace slipway::launcher {
namespace fs = std::filesystem;

namespace {

constexpr double kMillisecondsPerSecond = 1e3;

/// Null when no line has this key.
const MllogLine* Find(const std::vector<MllogLine>& lines, std::string_view key) {
  const auto found = std::ranges::find(lines, key, &MllogLine::key);
  return found == lines.end() ? nullptr : &*found;
}

std::int64_t Number(const std::vector<MllogLine>& lines, std::string_view key) {
  const auto* line = Find(lines, key);
  const auto value = line != nullptr ? Json::parse(line->value, nullptr, false) : Json();
  return value.is_number_integer() ? value.get<std::int64_t>() : 0;
}

std::int64_t ScaleOf(const std::vector<MllogLine>& lines) {
  return Number(lines, "number_of_nodes") * std::max<std::int64_t>(1, Number(lines, "accelerators_per_node"));
}

bool Succeeded(const MllogLine& stop) {
  const auto metadata = Json::parse(stop.metadata, nullptr, false);
  return metadata.is_object() && metadata.value("status", "") == "success";
}

/// Nothing when its run was never begun.
std::optional<LoggedRun> ReadLoggedRun(const fs::path& trial) {
  auto logs = PastMllogsIn(trial);
  logs.push_back(MllogIn(trial));
  LoggedRun run;
  bool begun = false;
  for (const auto& log : logs) {
    const auto lines = ReadMllog(log);
    const auto* start = Find(lines, "run_start");
    if (start == nullptr) continue;
    const auto* stop = Find(lines, "run_stop");
    if (!std::exchange(begun, true)) run.start = start->time_ms;
    run.log = log;
    run.number = Number(lines, "instance");
    run.scale = ScaleOf(lines);
    run.stop = stop != nullptr ? std::optional(stop->time_ms) : std::nullopt;
    run.converged = stop != nullptr && Succeeded(*stop);
  }
  return begun ? std::optional(run) : std::nullopt;
}

/// The most that ran at a time.
std::int64_t PeakScale(const std::vector<LoggedRun>& runs) {
  std::vector<std::pair<std::int64_t, std::int64_t>> changes;  // ends before begins of the same moment
  for (const auto& run : runs) {
    changes.emplace_back(run.start, run.scale);
    if (run.stop) changes.emplace_back(*run.stop, -run.scale);
  }
  std::ranges::sort(changes);
  std::int64_t now = 0;
  std::int64_t peak = 0;
  for (const auto& [time, change] : changes) peak = std::max(peak, now += change);
  return peak;
}

void AddTimes(const std::vector<LoggedRun>& runs, Throughput& result) {
  const auto [first, last] = std::ranges::minmax(runs, {}, &LoggedRun::start);
  result.start_spread_s = static_cast<double>(last.start - first.start) / kMillisecondsPerSecond;
  std::vector<std::int64_t> durations;
  std::int64_t end = first.start;
  for (const auto& run : runs) {
    if (!run.converged) continue;
    durations.push_back(*run.stop - run.start);
    end = std::max(end, *run.stop);
  }
  if (durations.empty()) return;
  std::ranges::sort(durations);
  result.fastest_s = static_cast<double>(durations.front()) / kMillisecondsPerSecond;
  result.median_s = static_cast<double>(durations[durations.size() / 2]) / kMillisecondsPerSecond;
  result.slowest_s = static_cast<double>(durations.back()) / kMillisecondsPerSecond;
  const double all_s = static_cast<double>(end - first.start) / kMillisecondsPerSecond;
  result.time_to_train_all_s = all_s;
  if (all_s > 0) result.models_per_minute = 60 * static_cast<double>(durations.size()) / all_s;
}

std::string RemarkOn(const std::vector<LoggedRun>& runs, const Throughput& result) {
  const bool equal = std::ranges::all_of(runs, [&](const auto& run) { return run.scale == result.instance_scale; });
  if (!equal) return "not all instances are of the same scale";
  const auto most = static_cast<std::int64_t>(result.models) * result.instance_scale;
  if (result.system_scale < result.instance_scale || result.system_scale > most) {
    return fmt::format("T must lie between S = {} and M x S = {}", result.instance_scale, most);
  }
  return result.converged == 0 ? "no model has converged" : "";
}

}  // namespace

std::vector<LoggedRun> ReadLoggedRuns(const fs::path& run_folder) {
  std::vector<LoggedRun> runs;
  std::error_code error;
  for (fs::directory_iterator entry(run_folder / "trials", error), end; entry != end; entry.increment(error)) {
    if (auto run = ReadLoggedRun(entry->path())) runs.push_back(std::move(*run));
  }
  std::ranges::sort(runs, {}, &LoggedRun::number);
  return runs;
}

LoggedSystem ReadLoggedSystem(const fs::path& run_folder) {
  LoggedSystem system;
  const auto lines = ReadMllog(MllogIn(run_folder));
  if (const auto scale = ScaleOf(lines); scale > 0) system.scale = scale;
  const auto* start = Find(lines, "staging_start");
  const auto* stop = Find(lines, "staging_stop");
  if (start != nullptr && stop != nullptr) {
    system.staging_s = static_cast<double>(stop->time_ms - start->time_ms) / kMillisecondsPerSecond;
  }
  return system;
}

Throughput MeasureThroughput(const std::vector<LoggedRun>& runs, const LoggedSystem& system) {
  Throughput result;
  result.instance_scale = runs.front().scale;
  result.system_scale = system.scale ? *system.scale : PeakScale(runs);
  result.models = runs.size();
  result.converged = static_cast<std::size_t>(std::ranges::count(runs, true, &LoggedRun::converged));
  result.staging_s = system.staging_s;
  AddTimes(runs, result);
  result.remark = RemarkOn(runs, result);
  return result;
}

}  // namespace slipway::launcher
