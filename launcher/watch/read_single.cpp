#include "launcher/watch/read_single.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/documents.h"
#include "core/text.h"
#include "launcher/plan/training_command.h"
#include "launcher/ranks/monitor/log_tail.h"
#include "launcher/ranks/monitor/watch_report.h"
#include "launcher/run_folder/attempt_files.h"
#include "launcher/trials/trials_view.h"
#include "launcher/view/file_stamp.h"

namespace slipway::launcher::watch {
namespace fs = std::filesystem;
namespace {

constexpr int kMostRanks = 1'024;
constexpr std::size_t kMostLogLines = 5'000;
constexpr std::int64_t kTailBytes = 64 * 1024;  // of LastLines
constexpr std::size_t kLinesToSearch = 400;
constexpr std::string_view kTraceLine = "slipway: team '";
constexpr std::string_view kWithoutTeam =
    "no team: the times are of the whole attempt, and exchange may run beside compute";
constexpr double kMuchWaiting = 0.05;  // of a step

std::string EndText(const ExitStatus& status) { return status.Success() ? "done" : status.Describe(); }

void TakeEnds(const fs::path& attempt, WatchData& data) {
  const auto count = static_cast<int>(data.ranks.size());
  const auto ends = ReadEnds(attempt, count);
  for (std::size_t i = 0; i < ends.size() && i < data.ranks.size(); ++i) {
    if (ends[i]) data.ranks[i].state = EndText(*ends[i]);
  }
}

void TakeSteps(WatchData& data) {
  const auto& steps = data.run->steps;
  if (!steps) return;
  const auto straggler = Straggler(*steps);
  for (const auto& rank : steps->ranks) {
    const auto index = static_cast<std::size_t>(rank.rank);
    if (index >= data.ranks.size()) continue;
    data.ranks[index].steps = rank;
    data.ranks[index].straggler = straggler == rank.rank;
  }
}

void TakeFinding(const fs::path& attempt, WatchData& data) {
  data.finding.clear();
  const auto found = FindWatchReport(attempt);
  if (!found) return;
  data.finding = found->report ? found->report->message : "watch.json cannot be read: " + found->problem;
  if (!found->report) return;
  for (const auto& named : found->report->ranks) {
    if (named.rank < 0 || named.rank >= static_cast<std::int64_t>(data.ranks.size())) continue;
    auto& rank = data.ranks[static_cast<std::size_t>(named.rank)];
    rank.culprit = true;
    rank.state = named.state;
    rank.last_call = named.last;
  }
}

std::optional<double> SecondsAt(const Json& plan, const char* pointer) {
  const Json::json_pointer field(pointer);
  if (!plan.contains(field) || !plan.at(field).is_number()) return {};
  return plan.at(field).get<double>();
}

}  // namespace

std::optional<int> Straggler(const StepsView& steps) {
  if (steps.ranks.size() < 2) return {};
  // Without a team, the thread of the exchange does the waiting.
  const auto wait = steps.team.empty() ? &RankSteps::exchange_s : &RankSteps::wait_s;
  const auto least = std::ranges::min_element(steps.ranks, {}, wait);
  double waiting = 0;
  for (const auto& rank : steps.ranks) waiting += rank.*wait;
  const double least_wait = (*least).*wait;
  const double others = (waiting - least_wait) / static_cast<double>(steps.ranks.size() - 1);
  return others - least_wait > kMuchWaiting * least->step_s ? std::optional(least->rank) : std::nullopt;
}

void ReadSingle(const RunFolder& folder, WatchData& data) {
  const auto& run = *data.run;
  data.ranks.clear();
  if (run.attempt < 1) return;
  const auto attempt = folder.attempt(run.attempt);
  for (int rank = 0; rank < std::clamp(run.ranks, 0, kMostRanks); ++rank) {
    RankRow row;
    row.rank = rank;
    row.state = HasEnded(run.phase) ? "no end" : std::string(PhaseName(run.phase));
    data.ranks.push_back(std::move(row));
  }
  TakeEnds(attempt, data);
  TakeSteps(data);
  TakeFinding(attempt, data);
  TakeSilence(folder, data);
}

void ReadPlan(const RunFolder& folder, PlanGlance& plan) {
  plan = {};
  const auto json = Json::parse(ReadDocumentIfPresent(folder.plan_file()).value_or(""), nullptr, false);
  const Json::json_pointer data("/spec/data");
  if (!json.is_object()) return;
  if (json.contains(data) && json.at(data).is_object()) {
    for (const auto& [name, dataset] : json.at(data).items()) plan.datasets.push_back(name);
  }
  const bool ensemble =
      json.contains("/spec/ensemble"_json_pointer) && json.at("/spec/ensemble"_json_pointer).is_object();
  if (!ensemble) plan.time_limit_s = SecondsAt(json, "/spec/launch/time_limit");
  plan.checkpoint_every_s = SecondsAt(json, "/spec/checkpoint/every");
}

std::vector<fs::path> RankLogsOf(const RunFolder& folder, const WatchData& data) {
  std::vector<fs::path> files;
  if (!data.run || data.run->ensemble || data.run->attempt < 1) return files;
  const auto attempt = folder.attempt(data.run->attempt);
  for (const auto& rank : data.ranks) files.push_back(RankLog(attempt, rank.rank));
  return files;
}

void TakeSilence(const RunFolder& folder, WatchData& data) {
  const auto files = RankLogsOf(folder, data);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto stamp = StampOf(files[i]);
    data.ranks[i].last_output = stamp == FileStamp() ? std::nullopt : std::optional(ModifiedAt(stamp));
  }
  data.trace_line.clear();
  if (files.empty()) return;
  if (const auto& steps = data.run->steps) {
    if (steps->team.empty()) data.trace_line = kWithoutTeam;
    return;
  }
  for (const auto& line : LinesOf(LastLines(files.front(), kLinesToSearch))) {
    if (line.starts_with(kTraceLine)) data.trace_line = line;
  }
}

fs::path LogFileOf(const RunFolder& folder, const Interest& interest, const WatchData& data) {
  if (!data.run) return {};
  if (!interest.trial)
    return data.run->ensemble ? fs::path() : RankLog(folder.attempt(std::max(1, data.run->attempt)), interest.rank);
  const auto row = static_cast<std::size_t>(*interest.trial);
  if (!data.run->trials || row >= data.run->trials->number.size()) return {};
  const int attempt = std::max(1, data.run->trials->attempts[row]);
  return RankLog(folder.path() / TrialFolder(*interest.trial) / AttemptFolder(attempt), interest.rank);
}

LogTail ReadLog(const fs::path& file) {
  const auto stamp = StampOf(file);
  LogTail log;
  log.file = file;
  log.exists = stamp != FileStamp();
  log.cut = stamp.bytes > kTailBytes;
  log.lines = LinesOf(LastLines(file, kMostLogLines));
  return log;
}

}  // namespace slipway::launcher::watch
